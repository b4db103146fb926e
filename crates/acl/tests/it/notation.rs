//! Values and messages in the JSON notation of `conformance/acl/README.md`.

use proptest::prelude::*;
use serde_json::{Value as Json, json};
use whimbrel_acl::value::{Annot, Structure};
use whimbrel_acl::{AclMessage, Aid, Extras, Performative, Symbol, Template, Text, Value, Var, sym};

pub fn read_value(json: &Json) -> Value {
    match json {
        Json::Null => Value::Null,
        Json::Bool(b) => Value::Bool(*b),
        Json::String(text) => Value::from(text.as_str()),
        Json::Array(items) => Value::list(items.iter().map(read_value).collect::<Vec<_>>()),
        Json::Number(n) => n.as_i64().map_or_else(|| Value::Num(n.as_f64().unwrap()), Value::Int),
        Json::Object(object) => match object.keys().find(|key| is_kind(key)).unwrap().as_str() {
            "int" => Value::Int(text(&json["int"]).parse().unwrap()),
            "num" => Value::Num(json["num"].as_f64().unwrap_or_else(|| text(&json["num"]).parse().unwrap())),
            "bytes" => Value::from(read_hex(text(&json["bytes"]))),
            "atom" => Value::atom(text(&json["atom"])),
            "list" => Value::list_with_tail(
                items(&json["list"]).map(read_value).collect::<Vec<_>>(),
                read_value(&json["tail"]),
            ),
            "var" => Value::Var(read_variable(json)),
            "map" => Value::map(items(&json["map"]).map(|pair| (read_value(&pair[0]), read_value(&pair[1])))),
            "record" => {
                let fields = items(&json["fields"]).map(|field| (text(&field[0]).into(), read_value(&field[1])));
                Value::record(text(&json["record"]), fields)
            }
            _ => read_structure(json).into_value(),
        },
    }
}

fn is_kind(key: &str) -> bool {
    matches!(key, "int" | "num" | "bytes" | "atom" | "list" | "var" | "map" | "record" | "term")
}

fn read_structure(json: &Json) -> Structure {
    let args = items(&json["args"]).map(read_value).collect();
    let tail = json.get("annot_tail").map(|tail| Annot::Tail(read_variable(tail)));
    let annots = items(&json["annots"]).map(|annot| Annot::new(read_value(annot))).chain(tail).collect();
    let namespace = json["namespace"].as_str().map_or(sym::DEFAULT, Symbol::new);
    Structure::full(namespace, json["negated"] == true, text(&json["term"]).into(), args, annots)
}

fn read_variable(json: &Json) -> Var {
    Var { slot: json["slot"].as_u64().unwrap() as u32, name: text(&json["var"]).into() }
}

fn read_hex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

pub fn text(json: &Json) -> &str {
    json.as_str().unwrap()
}

pub fn items(json: &Json) -> impl DoubleEndedIterator<Item = &Json> {
    json.as_array().map(Vec::as_slice).unwrap_or_default().iter()
}

pub fn read_aid(json: &Json) -> Aid {
    text(json).parse().unwrap()
}

pub fn read_message(json: &Json) -> AclMessage {
    let symbol = |key: &str| json[key].as_str().map(Symbol::new);
    let words = |key: &str| json[key].as_str().map(Text::from);
    let extras = Extras {
        reply_to: items(&json["reply_to"]).map(read_aid).collect(),
        language: symbol("language"),
        encoding: symbol("encoding"),
        ontology: symbol("ontology"),
        protocol: symbol("protocol"),
        conversation_id: words("conversation_id"),
        reply_with: words("reply_with"),
        in_reply_to: words("in_reply_to"),
        reply_by_ms: json["reply_by_ms"].as_u64(),
        user: items(&json["user"]).map(|pair| (text(&pair[0]).into(), read_value(&pair[1]))).collect(),
    };
    AclMessage {
        performative: Performative::named(text(&json["performative"]).into()),
        sender: read_aid(&json["sender"]),
        receivers: items(&json["receivers"]).map(read_aid).collect(),
        content: read_value(&json["content"]),
        extras: (extras != Extras::default()).then(|| Box::new(extras)),
    }
}

pub fn read_template(json: &Json) -> Template {
    let (kind, what) = json.as_object().unwrap().iter().next().unwrap();
    let both = || (read_template(&what[0]), read_template(&what[1]));
    match kind.as_str() {
        "any" => Template::Any,
        "performative" => Template::performative(Performative::named(text(what).into())),
        "conversation" => Template::conversation(text(what)),
        "ontology" => Template::ontology(text(what)),
        "protocol" => Template::protocol(text(what)),
        "language" => Template::Language(text(what).into()),
        "in_reply_to" => Template::in_reply_to(text(what)),
        "sender" => Template::sender(read_aid(what)),
        "and" => both().0 & both().1,
        "or" => both().0 | both().1,
        "not" => !read_template(what),
        other => panic!("no template: {other}"),
    }
}

pub fn write_value(value: &Value) -> Json {
    let list = |items: &[Value]| items.iter().map(write_value).collect::<Vec<_>>();
    match value {
        Value::Null => Json::Null,
        Value::Bool(b) => json!(b),
        Value::Str(text) => json!(text.as_str()),
        Value::Int(n) if n.unsigned_abs() <= 1 << 53 => json!(n),
        Value::Int(n) => json!({ "int": n.to_string() }),
        Value::Num(n) if n.fract() != 0.0 && n.is_finite() => json!(n),
        Value::Num(n) if n.is_finite() && (*n != 0.0 || n.is_sign_positive()) => json!({ "num": n }),
        Value::Num(n) => json!({ "num": if *n == 0.0 { "-0".to_owned() } else { n.to_string() } }),
        Value::Bytes(bytes) => json!({ "bytes": bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>() }),
        Value::Atom(name) => json!({ "atom": name.as_str() }),
        Value::Nil => json!([]),
        Value::List(_) => {
            let mut rest = value.items();
            let items: Vec<Json> = rest.by_ref().map(write_value).collect();
            let proper = matches!(rest.tail(), Value::Nil);
            if proper { json!(items) } else { json!({ "list": items, "tail": write_value(rest.tail()) }) }
        }
        Value::Var(var) => write_variable(*var),
        Value::Map(pairs) => {
            json!({ "map": pairs.iter().map(|(key, value)| json!([write_value(key), write_value(value)])).collect::<Vec<_>>() })
        }
        Value::Record(record) => {
            let fields = record.fields.iter().map(|(name, value)| json!([name.as_str(), write_value(value)]));
            json!({ "record": record.name.as_str(), "fields": fields.collect::<Vec<_>>() })
        }
        Value::Term(term) => {
            let mut json = json!({ "term": term.functor.as_str(), "args": list(&term.args), "negated": term.negated });
            json["namespace"] = json!(term.namespace.as_str());
            let (tails, annots): (Vec<&Annot>, Vec<&Annot>) =
                term.annots.iter().partition(|annot| matches!(annot, Annot::Tail(_)));
            json["annots"] = annots.iter().map(|annot| write_value(&annot.to_value())).collect();
            if let [Annot::Tail(var)] = tails.as_slice() {
                json["annot_tail"] = write_variable(*var);
            }
            json
        }
        other => panic!("no notation for {other:?}"),
    }
}

fn write_variable(var: Var) -> Json {
    json!({ "var": var.name.as_str(), "slot": var.slot })
}

proptest! {
    #[test]
    fn the_notation_loses_nothing(value in crate::generators::value()) {
        let text = write_value(&value).to_string();
        let read = read_value(&serde_json::from_str(&text).unwrap());
        prop_assert_eq!(format!("{read:?}"), format!("{value:?}"));
    }
}
