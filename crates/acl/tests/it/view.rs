//! A view of a document agrees with the decoded document.

use proptest::prelude::*;
use whimbrel_acl::compact::view::{Array, Cells, Column, ValueView, View};
use whimbrel_acl::compact::{self, DecodeError, Limits};
use whimbrel_acl::{Structure, Symbol, Value};

use crate::generators::value;

/// The value that a node is.
fn value_of(view: &View<'_>, node: &ValueView<'_>) -> Value {
    match node {
        ValueView::Null => Value::Null,
        ValueView::Bool(b) => Value::Bool(*b),
        ValueView::Int(n) => Value::Int(*n),
        ValueView::Num(n) => Value::Num(*n),
        ValueView::Text(text) => Value::from(*text),
        ValueView::NumericText(n) => Value::from(n.to_string()),
        ValueView::Atom(name) => Value::atom(*name),
        ValueView::Bytes(bytes) => Value::from(bytes.to_vec()),
        ValueView::List(items) => Value::list(items.iter().map(|item| value_of(view, item)).collect::<Vec<_>>()),
        ValueView::Array(array) => Value::list(values(view, array)),
        ValueView::Object(object) => {
            let fields: Vec<_> = object.fields().map(|(name, field)| (name, value_of(view, field))).collect();
            object_of(object.is_record(), object.name(), fields)
        }
        ValueView::Map(both) => Value::map(values(view, &both.0).into_iter().zip(values(view, &both.1))),
        ValueView::Value(value) => value.clone(),
        other => panic!("{other:?}"),
    }
}

fn object_of(is_record: bool, name: &str, fields: Vec<(&str, Value)>) -> Value {
    if is_record {
        Value::record(name, fields.into_iter().map(|(name, value)| (name.into(), value)))
    } else {
        Value::map(fields.into_iter().map(|(name, value)| (Value::from(name), value)))
    }
}

fn values(view: &View<'_>, array: &Array<'_>) -> Vec<Value> {
    let all: Vec<Value> =
        array.columns().iter().flat_map(|column| cells(view, column)).map(Option::unwrap_or_default).collect();
    assert_eq!(all.len(), array.len());
    all
}

fn bits(bytes: &[u8], rows: usize) -> Vec<bool> {
    (0..rows).map(|row| bytes[row / 8] >> (row % 8) & 1 == 1).collect()
}

fn pieces<'a, T: ?Sized>(lengths: Vec<i64>, cut: impl Fn(usize, usize) -> &'a T) -> Vec<&'a T> {
    let mut at = 0;
    lengths
        .into_iter()
        .map(|length| {
            at += length as usize;
            cut(at - length as usize, at)
        })
        .collect()
}

/// The values of a column's rows; nothing where a row has none.
fn cells(view: &View<'_>, column: &Column<'_>) -> Vec<Option<Value>> {
    let rows = column.rows();
    let all = match column.cells() {
        Cells::Constant(node) => vec![value_of(view, node); rows],
        Cells::Any(nodes) => nodes.iter().map(|node| value_of(view, node)).collect(),
        Cells::Ints(ints) => ints.to_vec().into_iter().map(Value::Int).collect(),
        Cells::Decimals(ints, by) => ints.to_vec().into_iter().map(|n| Value::Num(n as f64 / by)).collect(),
        Cells::Floats(raw) if raw.len() == rows * 4 => {
            raw.chunks(4).map(|raw| Value::Num(f32::from_le_bytes(raw.try_into().unwrap()).into())).collect()
        }
        Cells::Floats(raw) => {
            raw.chunks(8).map(|raw| Value::Num(f64::from_le_bytes(raw.try_into().unwrap()))).collect()
        }
        Cells::Bools(packed) => bits(packed, rows).into_iter().map(Value::Bool).collect(),
        Cells::TextRefs(refs) => refs.to_vec().into_iter().map(|n| Value::from(view.text(n).unwrap())).collect(),
        Cells::AtomRefs(refs) => refs.to_vec().into_iter().map(|n| Value::atom(view.text(n).unwrap())).collect(),
        Cells::Texts(lengths, run) => {
            pieces(lengths.to_vec(), |a, b| &run[a..b]).into_iter().map(Value::from).collect()
        }
        Cells::Atoms(lengths, run) => {
            pieces(lengths.to_vec(), |a, b| &run[a..b]).into_iter().map(Value::atom).collect()
        }
        Cells::Bytes(lengths, run) => {
            pieces(lengths.to_vec(), |a, b| &run[a..b]).into_iter().map(|run| Value::from(run.to_vec())).collect()
        }
        Cells::NumericTexts(numbers) => numbers.to_vec().into_iter().map(|n| Value::from(n.to_string())).collect(),
        Cells::Series(parts, numbers) => {
            let (before, after, digits) = **parts;
            let text = |n| Value::from(format!("{before}{n:0digits$}{after}"));
            numbers.to_vec().into_iter().map(text).collect()
        }
        Cells::Lists(lengths, elements) => {
            let elements = values(view, elements);
            pieces(lengths.to_vec(), |a, b| &elements[a..b]).into_iter().map(|row| Value::list(row.to_vec())).collect()
        }
        Cells::Maps(lengths, both) => {
            let pairs: Vec<(Value, Value)> = values(view, &both.0).into_iter().zip(values(view, &both.1)).collect();
            pieces(lengths.to_vec(), |a, b| &pairs[a..b]).into_iter().map(|row| Value::map(row.to_vec())).collect()
        }
        Cells::Table(table) => table_of(view, table, rows),
        Cells::Nulls(bitmap, inner) => {
            let mut present = cells(view, inner).into_iter().flatten();
            let row = |is_there| if is_there { present.next().unwrap() } else { Value::Null };
            bits(bitmap, rows).into_iter().map(row).collect()
        }
        Cells::Absent(bitmap, inner) => {
            let mut present = cells(view, inner).into_iter();
            let row = |is_there| if is_there { present.next().unwrap() } else { None };
            return bits(bitmap, rows).into_iter().map(row).collect();
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(all.len(), rows);
    all.into_iter().map(Some).collect()
}

fn table_of(view: &View<'_>, table: &whimbrel_acl::compact::view::ObjectTable<'_>, rows: usize) -> Vec<Value> {
    let columns: Vec<Vec<Option<Value>>> = table.columns().iter().map(|column| cells(view, column)).collect();
    (0..rows)
        .map(|row| {
            let row = columns.iter().map(|column| column[row].clone());
            if table.names().is_empty() && !columns.is_empty() {
                return Structure::new(Symbol::new(table.name()), row.map(Option::unwrap).collect()).into_value();
            }
            let fields =
                table.names().iter().copied().zip(row).filter_map(|(name, value)| Some((name, value?))).collect();
            object_of(table.is_record(), table.name(), fields)
        })
        .collect()
}

#[track_caller]
fn check(value: &Value) {
    let mut document = Vec::new();
    compact::encode_value(value, &mut document).unwrap();
    let view = View::open(&document, Limits::DEFAULT).unwrap();
    assert_eq!(format!("{:?}", value_of(&view, view.root())), format!("{value:?}"));
}

proptest! {
    #[test]
    fn any_value(value in value()) {
        check(&value);
    }

    #[test]
    fn rows_of_any_values(rows in prop::collection::vec(value(), 1..12), repeat in 1..30_usize) {
        let rows: Vec<Value> = rows.iter().cycle().take(rows.len() * repeat).cloned().collect();
        check(&Value::list(rows));
    }

    #[test]
    fn random_bytes_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        if let Ok(view) = View::open_body(&bytes, Limits::DEFAULT.with_budget_bytes(1 << 20)) {
            let _ = format!("{:?}", view.root());
        }
    }
}

#[test]
fn columns_of_every_kind() {
    let n = |n: i64| Value::Int(n);
    let row = |i: i64| {
        Value::record(
            "row",
            [
                ("int".into(), n(i * 7919 % 1000)),
                ("step".into(), n(1_700_000_000 + i * 60)),
                ("real".into(), Value::Num(i as f64 / 8.0 + 0.1)),
                ("odd".into(), Value::Num((i as f64).sqrt())),
                ("single".into(), Value::Num(f64::from((i as f32).sqrt()))),
                ("text".into(), Value::from(["red", "green", "blue"][i as usize % 3])),
                ("own".into(), Value::from(format!("{i:x} is nobody else's"))),
                ("id".into(), Value::from(format!("id-{i:05}@home"))),
                ("number".into(), Value::from((i * i * i).to_string())),
                ("atom".into(), Value::atom(["north", "south"][i as usize % 2])),
                ("maybe".into(), if i % 3 == 0 { Value::Null } else { n(i) }),
                ("blob".into(), Value::from(vec![i as u8; i as usize % 5])),
                ("list".into(), Value::list((0..i % 4).map(n).collect::<Vec<_>>())),
                ("terms".into(), Value::list((0..4).map(|j| Value::term("at", [n(i), n(j)])).collect::<Vec<_>>())),
                ("map".into(), Value::map((0..i % 3).map(|j| (n(j), Value::Bool(i % 2 == 0))))),
                ("mixed".into(), if i % 2 == 0 { n(i) } else { Value::from("x") }),
                ("truth".into(), Value::Bool(i % 5 == 0)),
            ],
        )
    };
    for count in [3, 50, 1024, 1025, 2500] {
        check(&Value::list((0..count).map(row).collect::<Vec<_>>()));
    }
    let sparse = |i: i64| {
        Value::map((0..20).filter(|k| (i * 7 + k) % 6 == 0).map(|k| (Value::from(format!("key{k:02}")), n(i))))
    };
    check(&Value::list((1..40).map(sparse).collect::<Vec<_>>()));
}

#[test]
fn invalid_document_is_refused() {
    assert!(matches!(View::open(b"{}", Limits::DEFAULT), Err(DecodeError::Version { .. })));
    assert!(matches!(View::open(&[0xB6, 0xC0, 0], Limits::DEFAULT), Err(DecodeError::Trailing { .. })));
}
