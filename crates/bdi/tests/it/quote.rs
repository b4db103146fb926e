//! Code as data, and its text.

use std::collections::HashMap;

use whimbrel_acl::value::Bare;
use whimbrel_acl::{Structure, Symbol, Value, Var};
use whimbrel_bdi::syntax::ast::{CodeTerm, Term};
use whimbrel_bdi::syntax::quote::{
    is_body, normal_body, quote, reserved, trigger_parts, unquote_body, unquote_plan, unquote_rule, unquote_term,
};
use whimbrel_bdi::syntax::{parse_body, parse_plan, parse_term};

/// Returns the value of a term's text; each name is one variable.
pub fn value(text: &str) -> Value {
    quoted(&parse_term(text).unwrap_or_else(|problems| panic!("{text}: {problems:?}")))
}

pub fn quoted(term: &Term) -> Value {
    quote(term, &mut |name: Symbol| Var { slot: name.index(), name })
}

/// Unifies structurally, as far as code needs it: variables on the left only.
fn matches(pattern: &Value, value: &Value, found: &mut HashMap<Symbol, Value>) -> bool {
    match (pattern, value) {
        (Value::Var(var), _) => found.entry(var.name).or_insert_with(|| value.clone()) == value,
        (Value::Term(a), Value::Term(b)) => {
            a.functor == b.functor
                && a.args.len() == b.args.len()
                && a.args.iter().zip(&b.args).all(|(a, b)| matches(a, b, found))
        }
        (a, b) => a == b,
    }
}

#[track_caller]
fn bound(pattern: &str, term: &str) -> HashMap<&'static str, String> {
    let mut found = HashMap::new();
    assert!(matches(&value(pattern), &value(term), &mut found), "{pattern} does not match {term}");
    found.into_iter().map(|(name, value)| (name.as_str(), value.to_string())).collect()
}

#[track_caller]
fn prints(text: &str, expected: &str) {
    assert_eq!(value(text).to_string(), expected);
}

#[test]
fn terms_print_as_in_jason() {
    prints("p( 1, \"s\" , ns::~q[b,a] , [a,b | T])", "p(1,\"s\",ns::~q[a,b],[a,b|T])");
}

#[test]
fn code_prints_as_in_jason() {
    prints(
        "{ +!g(X) : b(X) & not c | X > 3 <- !a; ?d(Y); +e(Y); -f; -+h(1); .wait(40); !!k; if (z) { .print(q) } X = 1 }",
        "{ +!g(X) : ((b(X) & not (c)) | (X > 3)) <- !a; ?d(Y); +e(Y); -f; -+h(1); .wait(40); !!k; \
         .if_then_else(z,.print(q)); (X = 1) }",
    );
    prints("{ ++a; --b; +<c; +>d; e |&| f; (g; h) ||| i }", "{ ++a; --b; +c; +>d; .fork(and,e,f); .fork(or,g; h,i) }");
    prints("{ for (b(X)) { c; d } while (e) { } }", "{ .foreach(b(X),c; d); .loop(e,) }");
    prints("{ @l[b,a] +!g }", "{ @l[a,b] +!g }");
    prints("{ @[atomic] +!g <- a }", "{ @undefined[atomic] +!g <- a }");
    prints("{ @L ^!G[state(S)] : C <- B }", "{ @L ^!G[state(S)] : C <- B }");
    prints("{ }", "{ }");
    prints("{ X }", "{ X }");
    prints("{ a; X }", "{ a; X }");
    prints("{ +!g }", "{ +!g }");
    prints("{ h(X) :- b(X) & X > 1 }", "{ h(X) :- (b(X) & (X > 1)) }");
    prints(
        "{ +{ +!g <- a }; -{ @l +b <- c } }",
        "{ .add_plan({ +!g <- a },self,begin); .remove_plan({ @l +b <- c }) }",
    );
    prints("[X[a], ~X, ns::X[b|R], N::p(1)[c]]", "[X[a],~X,ns::X[b|R],N::p(1)[c]]");
    prints("f(-X, X mod 2, -(2), 2 ** X, not a)", "f((-X),(X mod 2),-2,(2**X),not (a))");
}

#[test]
fn pattern_takes_body_apart() {
    let found = bound("{ H ; R }", "{ a; !b; +c }");
    assert_eq!((found["H"].as_str(), found["R"].as_str()), ("a", "{ !b; +c }"));
    let found = bound("{ H ; R }", "{ !a }");
    assert_eq!((found["H"].as_str(), found["R"].as_str()), ("!a", "{ }"));
    let found = bound("{ !G ; a ; R }", "{ !g(1); a; b; c }");
    assert_eq!((found["G"].as_str(), found["R"].as_str()), ("g(1)", "{ b; c }"));
    let found = bound("{ @L +!G : C <- B }", "{ +!g(X) : c(X) <- a; b }");
    assert_eq!((found["G"].as_str(), found["C"].as_str()), ("g(X)", "c(X)"));
    assert!(!matches(&value("{ !G }"), &value("{ ?g }"), &mut HashMap::new()));
    assert!(!matches(&value("{ +!G }"), &value("{ -!g }"), &mut HashMap::new()));
}

/// `{ B }` needs the one special case of unification: `$body(B)` against any body with a step.
#[test]
fn variable_stands_for_whole_body() {
    let Value::Term(code) = value("{ B }") else { panic!() };
    assert_eq!(code.args.len(), 1);
    assert_eq!(normal_body(&[value("{ a; b }")]), value("{ a; b }"));
}

#[test]
fn bodies_in_bodies_are_spliced() {
    assert_eq!(normal_body(&[value("{ a; b }"), value("{ c }")]), value("{ a; b; c }"));
    assert_eq!(normal_body(&[value("{ a; b }"), Value::atom("d")]), value("{ a; b; d }"));
    assert_eq!(normal_body(&[value("{ }"), value("{ c }")]), value("{ c }"));
    assert_eq!(normal_body(&[value("foo(1)"), value("{ c }")]), value("{ foo(1); c }"));
    assert_eq!(normal_body(&[value(".print(1)"), value("{ c }")]), value("{ .print(1); c }"));
    assert_eq!(normal_body(&[value("X > 1")]), value("{ X > 1 }"));
    assert_eq!(normal_body(&[value("X"), value("{ }")]).to_string(), "{ X }");
    let nested = |args: [Value; 2]| Value::from(Structure::new(reserved::BODY, args.into_iter().collect()));
    assert_eq!(nested([value("{ }"), value("{ c }")]).to_string(), "{ c }");
    assert_eq!(nested([value("{ a; b }"), value("{ c }")]).to_string(), "{ a; b; c }");
    let mut found = HashMap::new();
    assert!(matches(&value("{ H; R }"), &value("{ !a; b }"), &mut found));
    assert!(is_body(&found[&Symbol::new("H")]));
    assert_eq!(normal_body(&[found[&Symbol::new("H")].clone()]), value("{ !a }"));
}

#[test]
fn events_are_triggers_texts_or_bodies() {
    let parts = |value: &Value| trigger_parts(value).map(|(op, kind, literal)| format!("{op:?} {kind:?} {literal}"));
    assert_eq!(parts(&value("{ -?q(X) }")).as_deref(), Some("Delete Test q(X)"));
    assert_eq!(parts(&value("{ +b(X) }")).as_deref(), Some("Add Belief b(X)"));
    assert_eq!(parts(&value("\"+!g(1)\"")).as_deref(), Some("Add Achieve g(1)"));
    assert_eq!(parts(&value("{ a; +b }")), None);
    assert_eq!(parts(&value("b")), None);
}

#[test]
fn bad_code_is_refused() {
    let message = |result: Result<(), whimbrel_bdi::syntax::quote::QuoteError>| result.unwrap_err().to_string();
    assert_eq!(message(unquote_plan(&value("f(1)")).map(drop)), "`f(1)` is not a plan");
    assert_eq!(message(unquote_rule(&value("1")).map(drop)), "`1` is not a rule");
    assert_eq!(message(unquote_body(&value("[a]")).map(drop)), "`[a]` is not a body");
    assert!(unquote_term(&Value::Null).is_err());
    let map = Value::Map(Vec::new().into());
    assert_eq!(quoted(&unquote_term(&map).unwrap()), map, "code may hold data that has no notation");
}

#[test]
fn same_named_variables_stay_apart() {
    let x = |slot| Value::Var(Var { slot, name: "X".into() });
    let term = unquote_term(&Value::term("p", [x(1), x(2), x(1)])).unwrap();
    assert_eq!(quoted(&term).to_string(), "p(X,_2X,X)");
}

#[test]
fn bare_code_has_no_outer_braces() {
    assert_eq!(Bare(&value("{ @l +!g(X) : c <- a; b }")).to_string(), "@l +!g(X) : c <- a; b");
    assert_eq!(Bare(&value("{ a; b }")).to_string(), "a; b");
    let body = Term::Code(CodeTerm::Body(parse_body("a; {b; c}").unwrap()));
    assert_eq!(Bare(&quoted(&body)).to_string(), "a; b; c");
}

/// The deepest code that the parser accepts fits a thread's stack in every operation.
#[test]
fn deepest_code_can_be_handled() {
    let nested = format!("{}a{}", "f(".repeat(99), ")".repeat(99));
    let chain = format!("b :- {}a", "a & ".repeat(390));
    let steps = format!("a{}", "; b(X)".repeat(390));
    let nots = format!("{} a", "not ".repeat(390));
    for text in [nested, format!("{{ {chain} }}"), format!("{{ {steps} }}"), nots] {
        let value = value(&text);
        let again = quoted(&unquote_term(&value).unwrap());
        assert!(again == value);
        assert!(!value.to_string().is_empty());
        drop(parse_term(&value.to_string()));
    }
    let body = parse_body(&format!("a{}", "; b(X)".repeat(390))).unwrap();
    assert_eq!(body.steps.len(), 391);
    let plan = parse_plan(&format!("+!g <- a{}.", "; b(X)".repeat(1_990))).unwrap();
    let value = quoted(&Term::Code(CodeTerm::Plan(Box::new(plan))));
    let again = quoted(&Term::Code(CodeTerm::Plan(Box::new(unquote_plan(&value).unwrap()))));
    assert!(again == value);
    assert!(value.to_string().len() > 1_990 * 6);
}
