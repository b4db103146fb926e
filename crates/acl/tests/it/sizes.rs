//! Objects that the format was not fitted to: none is larger than in MessagePack with names.

use std::collections::BTreeMap;
use std::sync::Arc;

use rmp::encode as msgpack;
use whimbrel_acl::compact::{self, Limits};
use whimbrel_acl::value::Contents;
use whimbrel_acl::{Object, Value};

/// Random numbers that are the same in every run.
struct FixedRandom(u64);

impl FixedRandom {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len() as u64) as usize]
    }

    fn real(&mut self) -> f64 {
        (self.below(1 << 30) as f64 + self.below(1 << 22) as f64 / (1 << 22) as f64) / (1 << 30) as f64
    }

    fn words(&mut self, count: u64) -> String {
        let words =
            ["the", "agent", "market", "offer", "blue", "house", "seven", "bridge", "wader", "north", "of", "a"];
        (0..count).map(|_| self.pick(&words)).collect::<Vec<_>>().join(" ")
    }
}

fn int(n: u64) -> Value {
    Value::Int(n as i64)
}

fn record<const N: usize>(name: &str, fields: [(&str, Value); N]) -> Value {
    Value::record(name, fields.map(|(name, value)| (name.into(), value)))
}

fn list(items: impl Iterator<Item = Value>) -> Value {
    Value::list(items.collect::<Vec<_>>())
}

/// Writes MessagePack: objects are maps with their fields' names, and names of types are lost.
fn to_msgpack(out: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Null => msgpack::write_nil(out).unwrap(),
        Value::Bool(b) => msgpack::write_bool(out, *b).unwrap(),
        Value::Int(n) => drop(msgpack::write_sint(out, *n).unwrap()),
        Value::Num(n) => msgpack::write_f64(out, *n).unwrap(),
        Value::Atom(_) | Value::Str(_) => msgpack::write_str(out, value.as_str().unwrap()).unwrap(),
        Value::Bytes(bytes) => msgpack::write_bin(out, bytes).unwrap(),
        Value::Nil | Value::List(_) => {
            msgpack::write_array_len(out, value.items().count() as u32).unwrap();
            value.items().for_each(|item| to_msgpack(out, item));
        }
        Value::Term(term) => {
            msgpack::write_array_len(out, term.args.len() as u32 + 1).unwrap();
            msgpack::write_str(out, term.functor.as_str()).unwrap();
            term.args.iter().for_each(|arg| to_msgpack(out, arg));
        }
        Value::Map(pairs) => {
            msgpack::write_map_len(out, pairs.len() as u32).unwrap();
            pairs.iter().for_each(|(key, value)| {
                to_msgpack(out, key);
                to_msgpack(out, value);
            });
        }
        Value::Record(record) => {
            msgpack::write_map_len(out, record.fields.len() as u32).unwrap();
            record.fields.iter().for_each(|(name, value)| {
                msgpack::write_str(out, name.as_str()).unwrap();
                to_msgpack(out, value);
            });
        }
        other => panic!("{other:?}"),
    }
}

fn concepts(random: &mut FixedRandom) -> Value {
    let mut item = |n: u64| {
        record(
            "item",
            [
                ("isbn", Value::from(format!("978-3-16-{:06}-{}", random.below(1_000_000), n % 10))),
                ("title", Value::from(random.words(4))),
                ("price", Value::Num(random.below(5000) as f64 / 100.0)),
                ("currency", Value::atom(random.pick(&["EUR", "USD", "RSD"]))),
                (
                    "authors",
                    list((0..1 + n % 3).map(|_| {
                        record(
                            "person",
                            [("name", Value::from(random.words(2))), ("born", int(1930 + random.below(70)))],
                        )
                    })),
                ),
                ("available", Value::Bool(random.below(4) > 0)),
            ],
        )
    };
    record("catalogue", [("seller", Value::from("amy@bookshop")), ("items", list((0..40).map(&mut item)))])
}

fn deep(level: u64, random: &mut FixedRandom) -> Value {
    let inner = if level == 0 { Value::Null } else { deep(level - 1, random) };
    let label = random.words(2);
    let kind = if level.is_multiple_of(2) { "folder" } else { "section" };
    record(
        kind,
        [
            ("label", Value::from(label)),
            ("level", int(level)),
            ("tags", list([int(level), int(7)].into_iter())),
            ("inner", inner),
        ],
    )
}

fn word_counts(random: &mut FixedRandom) -> Value {
    let count = |random: &mut FixedRandom| {
        Value::map((0..60).map(|n| (Value::from(format!("{}{n}", random.words(1))), int(random.below(900)))))
    };
    list((0..5).map(|_| count(random)))
}

fn languages() -> Value {
    let greetings = [
        ("sr", "Добро јутро, како сте данас?"),
        ("de", "Guten Morgen, wie geht es Ihnen heute?"),
        ("ja", "おはようございます、お元気ですか"),
        ("el", "Καλημέρα, τι κάνετε σήμερα;"),
        ("ar", "صباح الخير، كيف حالك اليوم؟"),
        ("hu", "Jó reggelt, hogy van ma?"),
        ("ru", "Доброе утро, как дела?"),
        ("emoji", "🌍🌎🌏 ✨"),
        ("fr", "Bonjour, comment allez-vous ?"),
        ("en", "Good morning, how are you today?"),
    ];
    list(greetings.into_iter().map(|(language, text)| {
        record(
            "phrase",
            [
                ("language", Value::from(language)),
                ("text", Value::from(text)),
                ("length", int(text.chars().count() as u64)),
            ],
        )
    }))
}

fn sensors(random: &mut FixedRandom) -> Value {
    let mut celsius = 210_i64;
    let mut time = 1_763_700_000_000;
    let mut row = |n: u64| {
        celsius += random.below(5) as i64 - 2;
        time += 1000 + random.below(20);
        record(
            "reading",
            [
                ("at", int(time)),
                ("celsius", Value::Num(celsius as f64 / 10.0)),
                ("humidity", Value::Num(random.real())),
                ("sensor", Value::from(format!("sensor-{}", n % 6))),
                ("ok", Value::Bool(random.below(50) > 0)),
            ],
        )
    };
    list((0..300).map(&mut row))
}

fn conversations(random: &mut FixedRandom) -> Value {
    let agents = ["ada@home", "bruno@home", "chloe@away", "dora@away"];
    let mut row = |n: u64| {
        Value::map(
            [
                ("performative", Value::from(random.pick(&["cfp", "propose", "refuse", "accept-proposal", "inform"]))),
                ("sender", Value::from(random.pick(&agents))),
                ("receiver", Value::from(random.pick(&agents))),
                ("conversation-id", Value::from(format!("cnp-{}", n / 6))),
                ("time", int(1_763_700_000 + n * 3 + random.below(3))),
                ("content", Value::from(random.words(6))),
            ]
            .map(|(key, value)| (Value::from(key), value)),
        )
    };
    list((0..120).map(&mut row))
}

fn sparse(random: &mut FixedRandom) -> Value {
    let row = |random: &mut FixedRandom| {
        let mut fields = Vec::new();
        for n in 0..40 {
            if random.below(8) == 0 {
                fields.push((Value::from(format!("attribute{n:02}")), int(random.below(1000))));
            }
        }
        Value::map(fields)
    };
    list((0..60).map(|_| row(random)))
}

fn sparse_one() -> Value {
    Value::map([("attribute07", 3), ("attribute31", 9)].map(|(key, n)| (Value::from(key), int(n))))
}

fn image(random: &mut FixedRandom) -> Value {
    let pixels: Vec<u8> = (0..64 * 64).map(|n| (n / 64 * 3 + n % 64 + random.below(7)) as u8).collect();
    record(
        "image",
        [("width", int(64)), ("height", int(64)), ("format", Value::atom("gray8")), ("pixels", Value::from(pixels))],
    )
}

fn beliefs(random: &mut FixedRandom) -> Value {
    list((0..80).map(|_| {
        Value::term(
            "at",
            [
                Value::atom(random.pick(&["robot", "beer", "owner"])),
                Value::Num(random.below(30) as f64),
                Value::Num(random.below(30) as f64),
            ],
        )
    }))
}

fn polygon(random: &mut FixedRandom) -> Value {
    let mut vertex =
        |_| record("vertex", [("lat", Value::Num(44.0 + random.real())), ("lon", Value::Num(20.0 + random.real()))]);
    record("polygon", [("name", Value::from("district")), ("vertices", list((0..50).map(&mut vertex)))])
}

fn services() -> Value {
    let service = |n: u64| {
        record(
            "service-description",
            [("name", Value::atom(format!("stock-{n}").as_str())), ("type", Value::atom("stock-broker"))],
        )
    };
    list((0..12).map(|n| {
        record(
            "df-agent-description",
            [
                ("name", record("agent-identifier", [("name", Value::from(format!("broker{n}@exchange")))])),
                ("services", list((0..1 + n % 2).map(service))),
                ("languages", list([Value::atom("fipa-sl0")].into_iter())),
            ],
        )
    }))
}

fn one_service() -> Value {
    record(
        "df-agent-description",
        [
            ("name", record("agent-identifier", [("name", Value::from("broker@exchange"))])),
            (
                "services",
                list(
                    [record("service-description", [("name", Value::atom("stock")), ("type", Value::atom("broker"))])]
                        .into_iter(),
                ),
            ),
        ],
    )
}

fn configuration() -> Value {
    let map = |pairs: Vec<(&str, Value)>| Value::map(pairs.into_iter().map(|(key, value)| (Value::from(key), value)));
    map(vec![
        ("name", Value::from("market")),
        ("debug", Value::Bool(false)),
        ("listen", map(vec![("host", Value::from("0.0.0.0")), ("port", int(7778))])),
        ("peers", list(["n1", "n2", "n3"].into_iter().map(Value::from))),
        ("limits", map(vec![("agents", int(100_000)), ("mailbox", int(1024)), ("ratio", Value::Num(0.75))])),
        ("log", Value::Null),
    ])
}

fn tiny() -> Value {
    Value::map([("x", 1), ("y", 2)].map(|(key, n)| (Value::from(key), int(n))))
}

fn random_numbers(random: &mut FixedRandom) -> Value {
    list((0..100).map(|_| Value::Int((random.below(1 << 31) << 31 | random.below(1 << 31)) as i64)))
}

fn few_numbers() -> Value {
    list([3, 500, -70, 9].into_iter().map(Value::Int))
}

fn objects() -> Vec<(&'static str, Value)> {
    let random = &mut FixedRandom(7);
    vec![
        ("ontology concepts", concepts(random)),
        ("deep records", deep(20, random)),
        ("word counts", word_counts(random)),
        ("languages", languages()),
        ("sensor series", sensors(random)),
        ("conversation log", conversations(random)),
        ("sparse objects", sparse(random)),
        ("one sparse object", sparse_one()),
        ("image", image(random)),
        ("beliefs", beliefs(random)),
        ("polygon", polygon(random)),
        ("DF entries", services()),
        ("one DF entry", one_service()),
        ("configuration", configuration()),
        ("tiny map", tiny()),
        ("random numbers", random_numbers(random)),
        ("few numbers", few_numbers()),
    ]
}

#[test]
fn objects_never_exceed_messagepack() {
    let mut larger = Vec::new();
    for (name, value) in objects() {
        let (mut own, mut other) = (Vec::new(), Vec::new());
        compact::encode_value(&value, &mut own).unwrap();
        to_msgpack(&mut other, &value);
        let back = compact::decode_value(&own, Limits::DEFAULT).unwrap();
        assert_eq!(format!("{back:?}"), format!("{value:?}"), "{name}");
        println!(
            "{name}: {} bytes, MessagePack {}, {:.2}",
            own.len(),
            other.len(),
            other.len() as f64 / own.len() as f64
        );
        if own.len() > other.len() {
            larger.push(name);
        }
    }
    assert!(larger.is_empty(), "larger: {larger:?}");
}

/// Rooms and the doors between them, as containers that refer to each other in circles.
#[test]
fn graphs_with_cycles() {
    let rooms: Vec<Arc<Object>> = (0..30).map(|_| Arc::new(Object::new(Contents::Map(BTreeMap::new())))).collect();
    let mut random = FixedRandom(3);
    // MessagePack could refer to repeated items only by number.
    let mut numbered = Vec::new();
    for (n, room) in rooms.iter().enumerate() {
        let doors: Vec<usize> = (0..3).map(|_| random.below(30) as usize).collect();
        let fields = |doors: Vec<Value>| {
            [
                ("name", Value::from(format!("room {n}"))),
                ("area", Value::Num(n as f64 / 2.0)),
                ("doors", Value::list(doors)),
            ]
        };
        let known = |door: &usize| Value::Object(Arc::clone(&rooms[*door]));
        if let Contents::Map(map) = &mut *room.contents() {
            *map = fields(doors.iter().map(known).collect()).map(|(key, value)| (Value::from(key), value)).into();
        }
        numbered.push(Value::map(
            fields(doors.iter().map(|door| int(*door as u64)).collect()).map(|(key, value)| (Value::from(key), value)),
        ));
    }
    let graph = Value::list(rooms.iter().map(|room| Value::Object(Arc::clone(room))).collect::<Vec<_>>());
    let (mut own, mut other) = (Vec::new(), Vec::new());
    compact::encode_value(&graph, &mut own).unwrap();
    to_msgpack(&mut other, &Value::list(numbered));
    println!("graph with cycles: {} bytes, MessagePack {}", own.len(), other.len());
    assert!(own.len() <= other.len(), "{} {}", own.len(), other.len());
    assert!(compact::decode_value(&own, Limits::MESSAGE).is_err(), "strangers make no circles");
    let back = compact::decode_value(&own, Limits::DEFAULT).unwrap();
    let doors = |room: &Value| -> Vec<Value> {
        let Value::Object(room) = room else { panic!("{room:?}") };
        let Contents::Map(map) = &*room.contents() else { panic!() };
        map[&Value::from("doors")].items().cloned().collect()
    };
    let place = |all: &Value, door: &Value| {
        let Value::Object(door) = door else { panic!() };
        all.items().position(|room| matches!(room, Value::Object(room) if Arc::ptr_eq(room, door)))
    };
    for (before, after) in graph.items().zip(back.items()) {
        for (one, other) in doors(before).iter().zip(&doors(after)) {
            assert_eq!(place(&graph, one), place(&back, other));
        }
    }
}
