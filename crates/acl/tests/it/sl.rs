//! SL: its grammar, its profiles, and content values.

use proptest::prelude::*;
use whimbrel_acl::sl::{Profile, SlContent, text_to_value, value_to_text};
use whimbrel_acl::{DecodeErrorKind, Value};

/// Text that is printed as it stands, and the least profile that has it.
const CANONICAL: &[(&str, Profile)] = &[
    ("(p)", Profile::Sl0),
    ("(true false)", Profile::Sl0),
    ("((p a \"b c\" 1 -2 3.5 1e21 20250101T000000000Z))", Profile::Sl0),
    ("((done (action bob (deliver (box 17) (loc 12 19)))))", Profile::Sl0),
    ("((result (action a (f)) (set 1 2)))", Profile::Sl0),
    (
        "((action (agent-identifier :name ams@h :addresses (sequence http://h:7778/acc)) \
         (register (ams-agent-description :name (agent-identifier :name a@h) :state active))))",
        Profile::Sl0,
    ),
    ("((= x y))", Profile::Sl0),
    ("((not p))", Profile::Sl1),
    ("((and (p a) (or q (not r))))", Profile::Sl1),
    ("((implies p q) (equiv p q))", Profile::Sl2),
    ("((iota ?x (p ?x)))", Profile::Sl2),
    ("((= (iota ?x (uncle bob ?x)) (any ?y (= ?y (all ?z q)))))", Profile::Sl2),
    ("((forall ?x (forall ?y (exists ?z (p ?x ?y ?z)))))", Profile::Sl2),
    ("((B a (forall ?x (p ?x))) (U a p) (PG a p) (I a (done (action a (f)))))", Profile::Sl2),
    ("((feasible (action a (f)) p) (done (action a (f)) p))", Profile::Sl2),
    ("((| (action a (f)) (; (action a (g)) (action b (h)))))", Profile::Sl2),
    ("((exists ?x (forall ?y (p ?x ?y))))", Profile::Sl),
    ("((not (forall ?x (p ?x))))", Profile::Sl),
    ("((iota ?x (exists ?y (p ?x ?y))))", Profile::Sl),
    ("((\"not\" a b c) (\"two words\" x))", Profile::Sl0),
    ("((p (\"set\" :a 1)))", Profile::Sl0),
];

const PROFILES: [Profile; 4] = [Profile::Sl0, Profile::Sl1, Profile::Sl2, Profile::Sl];

#[test]
fn trees_survive_printing_in_their_profile() {
    for (text, least) in CANONICAL {
        for profile in PROFILES {
            match SlContent::parse(text, profile) {
                Ok(tree) if profile >= *least => assert_eq!(tree.to_string(), *text),
                Err(error) if profile < *least => {
                    assert!(matches!(error.kind, DecodeErrorKind::Profile { .. }), "{text} in {profile:?}: {error}");
                    assert!(error.offset > 0 && error.offset < text.len());
                }
                other => panic!("{text} in {profile:?}: {other:?}"),
            }
        }
    }
}

#[test]
fn notation_is_read_generously() {
    for (text, canonical) in [
        ("  (\n ( p\t a ) ) ", "((p a))"),
        ("((p #3\"a\"b))", "((p \"a\\\"b\"))"),
        ("((p \"a\\\"b\" +7 0x1F -0XfF .5 5. 1E3))", "((p \"a\\\"b\" 7 31 -255 0.5 5.0 1000.0))"),
        ("((p a(b)c))", "((p a (b) c))"),
        ("((p +00000001T000000000 20250101T000000000))", "((p +00000001T000000000 20250101T000000000))"),
    ] {
        assert_eq!(SlContent::parse(text, Profile::Sl0).unwrap().to_string(), canonical);
    }
}

#[test]
fn errors_say_where_and_what() {
    for (text, offset, what) in [
        ("", 0, "`(`"),
        ("()", 1, "an expression"),
        ("(p", 2, "an expression"),
        ("((p))", 3, "a term"),
        ("((not p q))", 8, "`)`"),
        ("((done p))", 7, "`(`"),
        ("((done (f)))", 7, "an action"),
        ("((forall x p))", 9, "a variable"),
        ("((p (f :a)))", 9, "a term"),
        ("((p (f :a 1 b)))", 12, "`:parameter`"),
        ("((p ?))", 4, "a term"),
        ("((p (iota ?x)))", 12, "an expression"),
        ("(5)", 1, "an expression"),
        ("((5 a))", 2, "an operator or a symbol"),
    ] {
        let error = SlContent::parse(text, Profile::Sl).unwrap_err();
        assert_eq!(error.offset, offset, "{text}: {error}");
        assert!(
            matches!(&error.kind, DecodeErrorKind::Expected { expected, .. } if expected.starts_with(what)),
            "{text}: {error}"
        );
    }
    let trailing = SlContent::parse("(p) q", Profile::Sl).unwrap_err();
    assert_eq!((trailing.offset, trailing.kind), (4, DecodeErrorKind::Trailing));
    let deep = "(".repeat(100_000);
    assert!(matches!(SlContent::parse(&deep, Profile::Sl).unwrap_err().kind, DecodeErrorKind::Expected { .. }));
    let deep = format!("({}", "(not ".repeat(100_000));
    assert!(matches!(SlContent::parse(&deep, Profile::Sl).unwrap_err().kind, DecodeErrorKind::TooDeep { .. }));
}

#[test]
fn values_follow_the_table() {
    for (text, value) in [
        ("((p a \"b\" 1 1.5))", "[p(a,\"b\",1,1.5)]"),
        ("((p (f) (f x) (f :k v)))", "[p(f{},f(x),f{k: v})]"),
        ("((p (sequence) (set) (sequence a) (set a)))", "[p([],set,[a],set(a))]"),
        (
            "((p 20250101T000000000Z +00000001T000000000 -00000000T000000001))",
            "[p(datetime(1735689600000),duration(86400000),duration(-1))]",
        ),
        ("((iota ?x (and (p ?x ?y) true)))", "[iota(x,and(p(x,y),true))]"),
        ("((forall ?x (B a (not q))))", "[forall(x,B(a,not (q)))]"),
        ("((| (action a (f)) (; (action a (g)) (action b h))))", "[(action(a,f{}) | ;(action(a,g{}),action(b,h)))]"),
    ] {
        assert_eq!(text_to_value(text, Profile::Sl).unwrap().to_string(), value);
    }
    assert_eq!(
        value_to_text(&Value::term("p", [Value::Int(1)]), Profile::Sl0).unwrap(),
        "((p 1))",
        "the list may be left out"
    );
}

#[test]
fn unwritable_sl_is_refused() {
    for value in [
        Value::Null,
        Value::Nil,
        Value::Int(1),
        Value::from("text"),
        Value::map([(Value::from("a"), Value::Int(1))]),
        Value::term("p", [Value::Num(f64::NAN)]),
        Value::term("p", [Value::from(vec![255])]),
        Value::term("p", [(0..1_000_000).fold(Value::Nil, |inner, _| Value::term("f", [inner]))]),
        Value::list_with_tail([Value::atom("p")], Value::Int(1)),
    ] {
        assert!(value_to_text(&value, Profile::Sl).is_err());
    }
    let variable = text_to_value("((p ?x))", Profile::Sl).unwrap();
    assert!(value_to_text(&variable, Profile::Sl1).is_err(), "no variables in SL1");
}

/// Trees, by way of the values that are written as them.
fn expression() -> impl Strategy<Value = Value> {
    let name = prop::sample::select(
        &["p", "f", "set", "sequence", "not", "and", "action", "iota", "done", "|", "=", "forall", "two words", "true"]
            [..],
    );
    let leaf = prop_oneof![
        any::<i64>().prop_map(Value::Int),
        prop::num::f64::NORMAL.prop_map(Value::Num),
        "\\PC{0,8}".prop_map(Value::from),
        prop::sample::select(&["a", "b@h", "x-1"][..]).prop_map(Value::atom),
        (0..253_402_300_800_000_i64).prop_map(|ms| Value::term("datetime", [Value::Int(ms)])),
        any::<i32>().prop_map(|ms| Value::term("duration", [Value::Int(i64::from(ms))])),
    ];
    leaf.prop_recursive(4, 32, 4, move |inner| {
        prop_oneof![
            (name.clone(), prop::collection::vec(inner.clone(), 1..4)).prop_map(|(name, args)| Value::term(name, args)),
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::list),
            (name.clone(), inner).prop_map(|(name, value)| Value::record(name, [("k".into(), value)])),
        ]
    })
}

proptest! {
    #[test]
    fn values_come_back_from_sl(arguments in prop::collection::vec(expression(), 1..4)) {
        let value = Value::list([Value::term("p", arguments)]);
        // Operators whose operands are no formulas.
        let Ok(text) = value_to_text(&value, Profile::Sl) else { return Ok(()) };
        let read = text_to_value(&text, Profile::Sl).unwrap();
        prop_assert_eq!(format!("{read:?}"), format!("{value:?}"), "{}", text);
        prop_assert_eq!(SlContent::parse(&text, Profile::Sl).unwrap().to_string(), text);
    }
}
