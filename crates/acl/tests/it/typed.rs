//! Rust types in the compact codec: derived codecs, changes between versions, shared values.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Debug;
use std::rc::Rc;
use std::sync::Arc;

use whimbrel_acl::compact::{self, Decode, DecodeError, Encode, Limits};
use whimbrel_acl::{Symbol, Text, Value};

fn bytes_of<T: Encode>(thing: &T) -> Vec<u8> {
    let mut out = Vec::new();
    compact::encode(thing, &mut out).unwrap();
    out
}

fn read<T: Decode>(bytes: &[u8]) -> Result<T, DecodeError> {
    compact::decode(bytes, Limits::DEFAULT)
}

/// Comes back as itself, and is read as a dynamic value that is written in the same bytes.
#[track_caller]
fn check<T: Encode + Decode + Debug + PartialEq>(thing: &T) -> usize {
    let bytes = bytes_of(thing);
    assert_eq!(read::<T>(&bytes).as_ref(), Ok(thing));
    let value = compact::decode_value(&bytes, Limits::DEFAULT).unwrap();
    let mut again = Vec::new();
    compact::encode_value(&value, &mut again).unwrap();
    assert_eq!(hex(&again), hex(&bytes), "{value}");
    bytes.len()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x} ")).collect()
}

#[derive(Encode, Decode, Debug, Clone, PartialEq, Default)]
struct TypedSample {
    text: Text,
    random: String,
    int: i32,
    ints: Vec<i32>,
    bools: Vec<bool>,
    children: Vec<TypedSample>,
}

fn study(children: u64) -> TypedSample {
    let mixed = |n: u64| (n + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    TypedSample {
        text: "lorem ipsum dolor sit amet ".repeat(19).as_str().into(),
        random: (mixed(children) as i64).to_string(),
        int: (mixed(children) >> 47) as i32,
        ints: (0..20).map(|n| (mixed(children * 20 + n) >> 54) as i32).collect(),
        bools: (0..20).map(|n| mixed(children * 20 + n) & 1 == 1).collect(),
        children: (0..children).map(|child| TypedSample { children: vec![], ..study_alone(child) }).collect(),
    }
}

fn study_alone(seed: u64) -> TypedSample {
    if seed == 0 { TypedSample::default() } else { TypedSample { children: vec![], ..study(0) } }
}

#[test]
fn numbers_and_texts() {
    check(&0_u8);
    check(&vec![i64::MIN, i64::MAX, 0, 1, 2, 3]);
    check(&vec![u64::MAX, 1, 2, 3, 4, 5]);
    check(&vec![0.5_f32, 1.5, -0.0, 7.0]);
    check(&vec![0.1_f64, 0.25, 1e300, -0.0]);
    check(&vec![20.1_f64, 20.2, 20.4, 21.0]);
    check(&vec![1.0_f64, 2.0, 1e9, 4.0]);
    check(&vec![true; 100]);
    check(&vec![true, false, true, true, false, false]);
    check(&String::from("12345678901"));
    check(&vec![Some(1_i32), None, Some(3), None, None, Some(6), None, Some(8)]);
    check(&[1_u8, 2, 3].to_vec());
    check(&vec![vec![1_u8, 2, 3], vec![], vec![4]]);
    check(&vec![vec![1_i32, 2, 3], vec![], vec![4, 5, 6, 7]]);
    check(&[[1_i16, 2], [3, 4], [5, 6]]);
    check(&vec![Symbol::new("north"), Symbol::new("south"), Symbol::new("north"), Symbol::new("south")]);
    let words = ["apple", "pear", "plum", "quince", "fig", "apple", "pear", "plum"];
    check(&words.map(String::from).to_vec());
    check(&(0..100).map(|n| format!("agent-{n}@home")).collect::<Vec<_>>());
    check(&(0..100).map(|n| format!("2026-{n:03}")).collect::<Vec<_>>());
    check(&(0..3000_i64).map(|n| n * n).collect::<Vec<_>>());
    check(&(0..3000).map(|n| (n % 7 * 1000).to_string()).collect::<Vec<_>>());
    assert_eq!(check(&(0..1000).map(|n| 1_700_000_000_000_i64 + n * 250).collect::<Vec<i64>>()), 13);
}

/// Reads columns of options, tuples and lists of these two different things as they were written.
#[track_caller]
fn check_column<T: Encode + Decode + Debug + PartialEq + Clone>([one, other]: [T; 2]) {
    let options = vec![Some(one.clone()), Some(other.clone()), None];
    assert_eq!(read(&bytes_of(&options)), Ok(options));
    let pairs = vec![(one.clone(), one.clone()), (one.clone(), other.clone()), (other.clone(), other.clone())];
    assert_eq!(read(&bytes_of(&pairs)), Ok(pairs));
    let lists = vec![vec![one.clone()], vec![other.clone()], vec![one, other]];
    assert_eq!(read(&bytes_of(&lists)), Ok(lists));
}

#[test]
fn columns_of_alike_things_keep_differences() {
    check_column([1_i64, 2]);
    check_column([1_u64, u64::MAX]);
    check_column([1_i16, -1]);
    check_column([1_u8, 2]);
    check_column([0.5_f32, 0.25]);
    check_column([0.5_f64, 0.25]);
    check_column([true, false]);
    check_column(["a".to_owned(), "b".to_owned()]);
    check_column([Text::from("a"), Text::from("b")]);
    check_column([Symbol::new("north"), Symbol::new("south")]);
    check_column([Symbol::new("true"), Symbol::new("false")]);
    check_column([BTreeMap::from([(1_i64, 1_i64)]), BTreeMap::from([(1, 2)])]);
}

#[test]
fn truth_values_read_as_names() {
    for (value, name) in [(true, "true"), (false, "false")] {
        assert_eq!(read(&bytes_of(&Value::Bool(value))), Ok(Symbol::new(name)));
    }
}

#[test]
fn the_study_s_object() {
    let alone = study(0);
    check(&alone);
    let with_children = study(100);
    let bytes = check(&with_children);
    assert!(bytes < 4600, "{bytes}");
}

#[derive(Encode, Decode, Debug, Clone, PartialEq)]
enum Shape {
    Point,
    Circle(f64),
    Line(Position, Position),
    #[compact(name = "box")]
    Box {
        at: Position,
        wide: Option<i32>,
    },
}

#[derive(Encode, Decode, Debug, Clone, PartialEq)]
struct Position {
    x: i32,
    y: i32,
}

#[test]
fn enums() {
    let place = |x, y| Position { x, y };
    check(&Shape::Point);
    let shapes = vec![
        Shape::Point,
        Shape::Circle(0.5),
        Shape::Line(place(1, 2), place(3, 4)),
        Shape::Box { at: place(5, 6), wide: None },
        Shape::Box { at: place(5, 6), wide: Some(9) },
    ];
    check(&shapes);
    check(&vec![Shape::Point; 10]);
    let circles: Vec<Value> = (0..9).map(|n| Value::term("Circle", [Value::Num(f64::from(n))])).collect();
    let circles: Vec<Shape> = read(&bytes_of(&circles)).unwrap();
    assert_eq!(circles[8], Shape::Circle(8.0), "also from a table");
    assert!(matches!(read::<Shape>(&bytes_of(&Symbol::new("square"))), Err(DecodeError::Mismatch { .. })));
    assert!(matches!(read::<Shape>(&bytes_of(&1_i32)), Err(DecodeError::Mismatch { .. })));
}

#[derive(Encode, Decode, Debug, PartialEq)]
#[compact(name = "reading")]
struct Old {
    sensor: String,
    value: i16,
    note: Option<String>,
    unit: String,
}

#[derive(Encode, Decode, Debug, PartialEq)]
#[compact(name = "reading")]
struct New {
    quality: Option<f64>,
    #[compact(alias = "sensor")]
    source: String,
    value: Vec<i64>,
    #[compact(default)]
    tries: u32,
}

#[derive(Decode, Debug)]
#[compact(name = "reading")]
#[allow(dead_code)]
struct Strict {
    sensor: String,
    calibrated: bool,
}

#[test]
fn types_change_between_versions() {
    let old = |n: i16| Old {
        sensor: format!("s{n}"),
        value: n,
        note: (n % 3 == 0).then(|| format!("the {n}th one")),
        unit: "K".into(),
    };
    let new = |n: i16| New { quality: None, source: format!("s{n}"), value: vec![n.into()], tries: 0 };
    assert_eq!(read(&bytes_of(&old(7))), Ok(new(7)));
    let many: Vec<Old> = (0..50).map(old).collect();
    check(&many);
    assert_eq!(read(&bytes_of(&many)), Ok((0..50).map(new).collect::<Vec<_>>()));
    let missing = DecodeError::Missing { of: "reading", field: "calibrated" };
    assert_eq!(read::<Strict>(&bytes_of(&old(7))).unwrap_err(), missing);
    assert_eq!(read::<Vec<Strict>>(&bytes_of(&many)).unwrap_err(), missing);
    assert!(matches!(read::<Position>(&bytes_of(&old(7))), Err(DecodeError::Mismatch { .. })));
    let big = Value::record("reading", [("sensor".into(), "a".into()), ("value".into(), Value::Int(40_000))]);
    assert!(matches!(read::<Old>(&bytes_of(&big)), Err(DecodeError::Mismatch { .. })));
}

#[test]
fn maps() {
    let scores: BTreeMap<String, i32> = [("ada", 1), ("bruno", 2), ("chloe", 3)].map(|(k, v)| (k.into(), v)).into();
    check(&scores);
    let many: BTreeMap<String, f64> = (0..200).map(|n| (format!("word{n}"), f64::from(n) / 8.0)).collect();
    check(&many);
    let by_number: HashMap<u32, String> = (0..20).map(|n| (n, format!("v{n}"))).collect();
    check(&by_number);
    let rows: Vec<BTreeMap<String, i32>> = (0..9).map(|n| [("a".into(), n), (format!("k{n}"), 1)].into()).collect();
    assert_eq!(read(&bytes_of(&rows)), Ok(rows.clone()));
    let same_keys: Vec<Value> =
        (0..9).map(|n| Value::map([("a".into(), Value::Int(n)), ("b".into(), Value::Int(1))])).collect();
    let typed: Vec<BTreeMap<String, i32>> = read(&bytes_of(&same_keys)).unwrap();
    assert_eq!(typed[8], BTreeMap::from([("a".to_owned(), 8), ("b".to_owned(), 1)]));
    #[derive(Decode, Debug, PartialEq)]
    struct Ab {
        a: i32,
        b: Option<i64>,
    }
    assert_eq!(read::<Vec<Ab>>(&bytes_of(&same_keys)).unwrap()[3], Ab { a: 3, b: Some(1) }, "maps are objects, too");
}

#[derive(Encode, Decode, Debug)]
struct TreeNode {
    name: String,
    next: Option<Rc<TreeNode>>,
    others: Vec<Rc<TreeNode>>,
}

#[test]
fn shared_values_stay_shared() {
    let end = Rc::new(TreeNode { name: "the end of many".into(), next: None, others: vec![] });
    let nodes: Vec<Rc<TreeNode>> = (0..5)
        .map(|n| {
            let others = vec![Rc::clone(&end), Rc::clone(&end)];
            Rc::new(TreeNode { name: format!("node {n}"), next: Some(Rc::clone(&end)), others })
        })
        .collect();
    let bytes = bytes_of(&nodes);
    let read_back: Vec<Rc<TreeNode>> = read(&bytes).unwrap();
    let shared = read_back[0].next.as_ref().unwrap();
    assert_eq!(shared.name, "the end of many");
    assert!(read_back.iter().all(|node| node.others.iter().all(|other| Rc::ptr_eq(other, shared))));
    assert_eq!(Rc::strong_count(shared), 15);
    let texts: Vec<Arc<str>> = vec!["a text that is held by many".into(); 10];
    let read_back: Vec<Arc<str>> = read(&bytes_of(&texts)).unwrap();
    assert_eq!(Arc::strong_count(&read_back[0]), 10);
}

#[test]
fn equal_rows_share_long_text() {
    let text = Text::from("x".repeat(70_000).as_str());
    let rows = (text.clone(), vec![(text, 7_u8); 1024]);
    assert_eq!(read::<(Text, Vec<(Text, u8)>)>(&bytes_of(&rows)), Ok(rows));
}

#[test]
fn copies_of_known_text_are_charged() {
    let text = Text::from("x".repeat(1 << 20).as_str());
    let texts = (text.clone(), vec![text; 1000]);
    let bytes = bytes_of(&texts);
    assert_eq!(read::<(Text, Vec<Text>)>(&bytes), Ok(texts), "they are one");
    assert!(matches!(read::<(Text, Vec<String>)>(&bytes), Err(DecodeError::Budget { .. })), "a gigabyte");
}

#[test]
fn table_maps_are_charged() {
    let map = |row: i64| BTreeMap::from(["ada", "bob", "eve"].map(|name| (name.to_owned(), row)));
    let maps: Vec<BTreeMap<String, i64>> = (0..1000).map(map).collect();
    let bytes = bytes_of(&maps);
    let read_with = |budget_bytes: usize| {
        compact::decode::<Vec<BTreeMap<String, i64>>>(&bytes, Limits::DEFAULT.with_budget_bytes(budget_bytes))
    };
    assert!(bytes.len() < 2_000);
    assert_eq!(read_with(320 << 10), Ok(maps));
    assert!(matches!(read_with(256 << 10), Err(DecodeError::Budget { .. })), "each map is charged, and its entries");
}

#[test]
fn split_character_is_refused() {
    let mut bytes = bytes_of(&["abcd", "efg", "hi", "j"].map(str::to_owned).to_vec());
    let at = bytes.windows(4).position(|four| four == b"cdef").expect("the texts stand side by side");
    bytes[at + 1..at + 3].copy_from_slice("é".as_bytes());
    assert!(matches!(read::<Vec<String>>(&bytes), Err(DecodeError::Malformed { .. })));
    assert!(matches!(read::<Value>(&bytes), Err(DecodeError::Malformed { .. })));
}

#[test]
fn what_cannot_be_is_refused() {
    assert!(matches!(read::<String>(&bytes_of(&1_i32)), Err(DecodeError::Mismatch { .. })));
    assert!(matches!(read::<u8>(&bytes_of(&256_i32)), Err(DecodeError::Mismatch { .. })));
    assert!(matches!(read::<Vec<u8>>(&bytes_of(&vec![1_i32, 300, 3, 4])), Err(DecodeError::Mismatch { .. })));
    assert!(matches!(read::<Value>(&[0xB5, 0]), Err(DecodeError::Version { .. })));
    assert!(matches!(read::<Value>(&[0xB7, 0]), Err(DecodeError::Version { .. })));
    assert!(matches!(read::<Value>(&[0xB6]), Err(DecodeError::Truncated { .. })));
    let many = bytes_of(&vec![7_i64; 1_000_000]);
    assert!(many.len() < 3000);
    let limits = Limits::DEFAULT.with_budget_bytes(1 << 20);
    assert!(matches!(compact::decode::<Vec<i64>>(&many, limits), Err(DecodeError::Budget { .. })));
    assert!(matches!(compact::decode_value(&many, limits), Err(DecodeError::Budget { .. })));
}

#[derive(Encode, Decode, Debug, PartialEq)]
struct Optional {
    boxed: Box<Option<i64>>,
    after: i64,
}

#[test]
fn boxed_option_may_be_absent() {
    for boxed in [None, Some(7)] {
        check(&Optional { boxed: Box::new(boxed), after: 1 });
    }
}
