//! Laws of every value and every message.

use std::cmp::Ordering;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use proptest::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;
use whimbrel_acl::value::Annot;
use whimbrel_acl::{Envelope, MessageBody, Performative, Symbol, Template, Value};

use crate::generators::{aid, message, number, value};

fn hash_of(value: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// Written out and read back.
fn round_trip<T: Serialize + DeserializeOwned>(thing: &T) -> T {
    serde_json::from_str(&serde_json::to_string(thing).unwrap()).unwrap()
}

/// Doubles that are no ordinary numbers, too.
fn any_number() -> impl Strategy<Value = Value> {
    let odd = prop::sample::select(&[f64::NAN, -f64::NAN, f64::INFINITY, f64::NEG_INFINITY][..]);
    prop_oneof![
        number().prop_map(Value::Num),
        odd.prop_map(Value::Num),
        crate::generators::integer().prop_map(Value::Int),
    ]
}

fn check_order(a: &Value, b: &Value, c: &Value) -> Result<(), TestCaseError> {
    prop_assert_eq!(a.cmp(a), Ordering::Equal);
    prop_assert_eq!(a.cmp(b), b.cmp(a).reverse());
    prop_assert_eq!(a == b, a.cmp(b) == Ordering::Equal);
    if a == b {
        prop_assert_eq!(hash_of(a), hash_of(b));
        prop_assert_eq!(a.cmp(c), b.cmp(c));
    }
    if a <= b && b <= c {
        prop_assert!(a <= c, "{a} <= {b} <= {c}");
    }
    Ok(())
}

proptest! {
    #[test]
    fn values_are_totally_ordered(a in value(), b in value(), c in value()) {
        check_order(&a, &b, &c)?;
    }

    #[test]
    fn numbers_are_totally_ordered(a in any_number(), b in any_number(), c in any_number()) {
        check_order(&a, &b, &c)?;
    }

    #[test]
    fn annotations_sort_like_their_terms(a in value(), b in value()) {
        let (left, right) = (Annot::new(a), Annot::new(b));
        prop_assert_eq!(left.cmp(&right), right.cmp(&left).reverse());
        prop_assert_eq!(left.to_value() == right.to_value(), left == right);
    }

    #[test]
    fn clone_is_equal_and_hashes_alike(value in value()) {
        let clone = value.clone();
        prop_assert_eq!(hash_of(&clone), hash_of(&value));
        prop_assert_eq!(clone, value);
    }

    #[test]
    fn values_survive_being_written_out(value in value()) {
        let read = round_trip(&value);
        prop_assert_eq!(format!("{read:?}"), format!("{value:?}"), "to the kind of number, not only equal");
        prop_assert_eq!(read.is_ground(), value.is_ground());
    }

    #[test]
    fn messages_survive_being_written_out(message in message()) {
        let read = round_trip(&message);
        prop_assert_eq!(format!("{read:?}"), format!("{message:?}"));
        prop_assert_eq!(read.sender.contact(), message.sender.contact());
    }

    #[test]
    fn agent_names_read_back(aid in aid()) {
        let name = aid.to_string();
        // A local name may hold an `@`, but then only the full name reads back.
        if aid.platform.as_str() != "" || !name.contains('@') {
            prop_assert_eq!(name.parse(), Ok(aid));
        }
    }

    #[test]
    fn groundness_is_having_no_variable(value in value()) {
        prop_assert_eq!(value.is_ground(), !format!("{value:?}").contains("Var {"));
    }

    #[test]
    fn reply_keeps_the_conversation(message in message(), from in aid()) {
        let reply = message.make_reply(from, Performative::Agree);
        let (asked, answered) = (message.extras(), reply.extras());
        prop_assert_eq!(&answered.conversation_id, &asked.conversation_id);
        prop_assert_eq!(&answered.in_reply_to, &asked.reply_with);
        prop_assert_eq!((answered.protocol, answered.ontology), (asked.protocol, asked.ontology));
        let back = if asked.reply_to.is_empty() { vec![message.sender] } else { asked.reply_to.to_vec() };
        prop_assert_eq!(reply.receivers.to_vec(), back);
    }

    #[test]
    fn each_receiver_gets_one_copy(message in message()) {
        let mut envelopes = Vec::new();
        Envelope::for_each_receiver(Box::new(message.clone()), |envelope| envelopes.push(envelope));
        let mut message = message;
        if message.receivers.len() != 1 {
            message.name_each_once(Symbol::default());
        }
        prop_assert_eq!(envelopes.iter().map(|envelope| envelope.to).collect::<Vec<_>>(), message.receivers.to_vec());
        for Envelope { body, .. } in envelopes {
            prop_assert_eq!(matches!(body, MessageBody::Owned(_)), message.receivers.len() == 1);
            prop_assert_eq!(*body.into_message(), message.clone());
        }
    }

    #[test]
    fn templates_combine_as_truth_does(message in message(), other in message()) {
        let sender = Template::sender(other.sender);
        let act = Template::performative(other.performative);
        let (a, b) = (sender.matches(&message), act.matches(&message));
        prop_assert_eq!((sender.clone() & act.clone()).matches(&message), a && b);
        prop_assert_eq!((sender.clone() | act.clone()).matches(&message), a || b);
        prop_assert_eq!((!sender).matches(&message), !a);
        prop_assert!(Template::Any.matches(&message));
    }
}
