//! Strategies for property tests: names, values, messages of every shape.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use whimbrel_acl::value::{Annot, Structure};
use whimbrel_acl::{AclMessage, Aid, Contact, Extras, Performative, Symbol, Text, Value, Var};

/// Names: few, so that equal ones meet, and some that need care.
pub fn symbol() -> impl Strategy<Value = Symbol> {
    select(&["a", "b", "bob", "f", "source", "Übung", "two words", "x-y", "", "_", "10"][..]).prop_map(Symbol::new)
}

/// Generates text, mostly short.
pub fn text() -> impl Strategy<Value = Text> {
    prop_oneof!["[a-c]{0,2}", "\\PC{0,12}"].prop_map(Text::from)
}

/// Doubles: small whole ones, any finite ones, and the borders of exact integers. Never NaN or infinite.
pub fn number() -> impl Strategy<Value = f64> {
    let border =
        select(&[-0.0, 9_007_199_254_740_992.0, -9_223_372_036_854_775_808.0, 9_223_372_036_854_775_808.0][..]);
    prop_oneof![4 => (-3..4_i8).prop_map(f64::from), 2 => -1e6..1e6, 1 => prop::num::f64::NORMAL, 1 => border]
}

/// Generates whole numbers: small ones, any, and those next to the limits of exact doubles.
pub fn integer() -> impl Strategy<Value = i64> {
    let border = select(&[i64::MIN, i64::MAX, 9_007_199_254_740_991, 9_007_199_254_740_992, 9_007_199_254_740_993][..]);
    prop_oneof![4 => -3..4_i64, 1 => any::<i64>(), 1 => border]
}

/// Variables.
pub fn variable() -> impl Strategy<Value = Var> {
    (0..3_u32, symbol()).prop_map(|(slot, name)| Var { slot, name })
}

/// Values of every kind but mutable containers, a few levels deep.
pub fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        1 => Just(Value::Null),
        1 => any::<bool>().prop_map(Value::Bool),
        3 => integer().prop_map(Value::Int),
        3 => number().prop_map(Value::Num),
        3 => symbol().prop_map(Value::atom),
        2 => text().prop_map(Value::Str),
        1 => vec(any::<u8>(), 0..6).prop_map(Value::from),
        1 => Just(Value::Nil),
        1 => variable().prop_map(Value::Var),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        let tail = prop_oneof![3 => Just(Value::Nil), 1 => variable().prop_map(Value::Var)];
        let fields = vec((symbol(), inner.clone()), 0..3);
        prop_oneof![
            2 => (vec(inner.clone(), 1..4), tail).prop_map(|(items, tail)| Value::list_with_tail(items, tail)),
            3 => structure(inner.clone()).prop_map(Structure::into_value),
            1 => vec((inner.clone(), inner.clone()), 0..4).prop_map(Value::map),
            1 => (symbol(), fields).prop_map(|(name, fields)| Value::record(name, fields)),
        ]
    })
}

/// Structures with these arguments and annotations.
fn structure(inner: impl Strategy<Value = Value> + Clone) -> impl Strategy<Value = Structure> {
    let tail = option::weighted(0.2, variable());
    (symbol(), symbol(), any::<bool>(), vec(inner.clone(), 0..4), vec(inner, 0..3), tail).prop_map(
        |(namespace, functor, negated, args, annots, tail)| {
            let annots = annots.into_iter().map(Annot::new).chain(tail.map(Annot::Tail));
            Structure::full(namespace, negated, functor, args.into_iter().collect(), annots.collect())
        },
    )
}

/// Agents of this platform and others, some with addresses.
pub fn aid() -> impl Strategy<Value = Aid> {
    let name = select(&["amy", "bob", "c@d", "Zoë"][..]);
    let platform = select(&["", "", "home", "away:1099/JADE"][..]);
    let contact = option::weighted(0.2, (vec("[a-z]{1,4}://[a-z]{1,4}", 0..3), option::weighted(0.3, value())));
    (name, platform, contact).prop_map(|(name, platform, contact)| {
        let (addresses, user) = contact.unwrap_or_default();
        let resolvers = match addresses.len() {
            0 => vec![],
            1 => vec![Aid::local("ams")],
            _ => vec![Aid::new("df", "away").with_contact(Contact {
                addresses: addresses.clone(),
                resolvers: vec![Aid::local("ams")],
                user: vec![],
            })],
        };
        let user = user.map(|value| ("X-colour".into(), value)).into_iter().collect();
        Aid::new(name, platform).with_contact(Contact { addresses, resolvers, user })
    })
}

/// Names of parameters: such as FIPA allows, and some that need care.
pub fn parameter_name() -> impl Strategy<Value = Symbol> {
    select(&["X-colour", "X-1", "x-Ü", "weight", "sender", "two words", "", ":", "X-JADE-Encoding"][..])
        .prop_map(Symbol::new)
}

/// Moments: any that a date of four-digit years says, in milliseconds.
pub fn moment_ms() -> impl Strategy<Value = u64> {
    prop_oneof![0..4_102_444_800_000_u64, 0..253_402_300_800_000_u64]
}

/// Languages of content, SL's among them.
pub fn language() -> impl Strategy<Value = Symbol> {
    prop_oneof![symbol(), select(&["fipa-sl", "FIPA-SL0", "fipa-sl1", "fipa-sl2"][..]).prop_map(Symbol::new)]
}

/// Performatives: FIPA's, KQML's and others'.
pub fn performative() -> impl Strategy<Value = Performative> {
    prop_oneof![
        select(&Performative::FIPA[..]),
        select(&["tell", "askOne", "my-act"][..]).prop_map(|name| Performative::named(name.into()))
    ]
}

prop_compose! {
    fn extras()(
        reply_to in vec(aid(), 0..2), language in option::of(language()), encoding in option::of(symbol()),
        ontology in option::of(symbol()), protocol in option::of(symbol()), conversation_id in option::of(text()),
        reply_with in option::of(text()), in_reply_to in option::of(text()), reply_by_ms in option::of(moment_ms()),
        user in vec((parameter_name(), value()), 0..3),
    ) -> Extras {
        let reply_to = reply_to.into_iter().collect();
        Extras {
            reply_to, language, encoding, ontology, protocol, conversation_id, reply_with, in_reply_to, reply_by_ms, user,
        }
    }
}

prop_compose! {
    /// Messages with any parameters, to one receiver or some.
    pub fn message()(
        performative in performative(), sender in aid(), receivers in vec(aid(), 1..4), content in value(),
        extras in option::of(extras()),
    ) -> AclMessage {
        AclMessage { performative, sender, receivers: receivers.into_iter().collect(), content, extras: extras.map(Box::new) }
    }
}
