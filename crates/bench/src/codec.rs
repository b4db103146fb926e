//! The compact codec on the object of the Jadex study: a text of 514 bytes, a random number as text, a number, twenty
//! numbers, twenty truths, and children of the same class.

use std::hint::black_box;
use std::time::{Duration, Instant};

use whimbrel_acl::compact::view::{Array, Cells, Column, ValueView, View};
use whimbrel_acl::compact::{self, Decode, Decoder, Encode, EncodedMessage, Encoder, Limits};
use whimbrel_acl::{AclMessage, Aid, Performative, Text, Value};

use super::Metrics;

/// Data of the objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum CodecObject {
    /// All alike but the random number, as in the study.
    Same,
    /// Numbers and truths differ, too.
    Varied,
}

impl CodecObject {
    /// Returns the name on the command line and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Varied => "varied",
        }
    }
}

/// The study's object, its repeated text shared in memory, as Java shares it.
#[derive(Encode, Decode, Clone, Debug, PartialEq)]
#[compact(name = "BenchmarkObject")]
struct SharedObject {
    text: Text,
    random: String,
    number: i32,
    numbers: Vec<i32>,
    truths: Vec<bool>,
    children: Vec<SharedObject>,
}

/// The same with a text of its own in every object.
#[derive(Encode, Decode, Clone, Debug, PartialEq)]
#[compact(name = "BenchmarkObject")]
struct OwnedObject {
    text: String,
    random: String,
    number: i32,
    numbers: Vec<i32>,
    truths: Vec<bool>,
    children: Vec<OwnedObject>,
}

/// xorshift64*: the same data in every run.
struct ObjectRandom(u64);

impl ObjectRandom {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    fn below(&mut self, end: u64) -> i32 {
        (self.next() >> 16).checked_rem(end).unwrap_or_default() as i32
    }
}

fn text() -> String {
    "Lorem ipsum dolor sit amet, consectetur adipisici elit, sed eiusmod tempor. ".repeat(7).chars().take(514).collect()
}

fn shared(kind: CodecObject, children: u64, text: &Text, random: &mut ObjectRandom) -> SharedObject {
    let varied = kind == CodecObject::Varied;
    SharedObject {
        text: text.clone(),
        random: (random.next() as i64).to_string(),
        number: if varied { random.below(100_000) } else { 42_000 },
        numbers: (0..20).map(|n| if varied { random.below(1000) } else { n * 37 }).collect(),
        truths: (0..20).map(|n| if varied { random.next() >> 63 == 1 } else { n % 3 == 0 }).collect(),
        children: (0..children).map(|_| shared(kind, 0, text, random)).collect(),
    }
}

impl From<&SharedObject> for OwnedObject {
    fn from(shared: &SharedObject) -> Self {
        Self {
            text: shared.text.to_string(),
            random: shared.random.clone(),
            number: shared.number,
            numbers: shared.numbers.clone(),
            truths: shared.truths.clone(),
            children: shared.children.iter().map(Self::from).collect(),
        }
    }
}

/// Duration of one measurement.
const MEASURED: Duration = Duration::from_millis(400);
/// Into how many samples that is cut, each short enough to be left alone on a busy machine; the median counts.
const SAMPLES: u32 = 400;

/// Returns the median time of one `work`, in microseconds.
fn median_us<T>(mut work: impl FnMut() -> T) -> f64 {
    let started = Instant::now();
    black_box(work());
    let once = started.elapsed().max(Duration::from_nanos(20));
    let rounds = (MEASURED.as_nanos() / u128::from(SAMPLES) / once.as_nanos()).max(1);
    let samples = if rounds == 1 {
        (MEASURED.as_nanos() / once.as_nanos()).clamp(5, u128::from(SAMPLES))
    } else {
        SAMPLES.into()
    };
    let mut times: Vec<f64> = (0..samples)
        .map(|_| {
            let started = Instant::now();
            (0..rounds).for_each(|_| drop(black_box(work())));
            started.elapsed().as_secs_f64() * 1e6 / rounds as f64
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// Runs the benchmark.
///
/// # Errors
/// What was encoded does not come back.
pub fn run(kind: CodecObject, children: u64) -> Result<Metrics, compact::DecodeError> {
    let limits = Limits::DEFAULT.with_budget_bytes(usize::MAX);
    let object = shared(kind, children, &Text::from(text()), &mut ObjectRandom(0x9E37_79B9_7F4A_7C15));
    let mut bytes = Vec::new();
    let write = |object: &SharedObject, bytes: &mut Vec<u8>| {
        bytes.clear();
        // Objects in objects in this one: never too deep.
        let _ = compact::encode(object, bytes);
        bytes.len()
    };
    let size = write(&object, &mut bytes);
    let document = bytes.clone();
    let back: SharedObject = compact::decode(&document, limits)?;
    assert!(back == object, "what was encoded must come back");
    let owned = OwnedObject::from(&object);
    let mut metrics: Metrics = vec![("bytes", Some(size as f64)), ("warm_bytes", Some(warm_bytes(&object)? as f64))];
    let mut add = |name, us| metrics.push((name, Some(us)));
    add("encode_us", median_us(|| write(&object, &mut bytes)));
    add("decode_us", median_us(|| compact::decode::<SharedObject>(&document, limits)));
    add("view_us", median_us(|| View::open(&document, limits).map(|view| sum(view.root()))));
    add(
        "encode_owned_us",
        median_us(|| {
            bytes.clear();
            compact::encode(&owned, &mut bytes)
        }),
    );
    add("decode_owned_us", median_us(|| compact::decode::<OwnedObject>(&document, limits)));
    add("decode_value_us", median_us(|| compact::decode_value(&document, limits)));
    message(&mut metrics)?;
    Ok(metrics)
}

/// Bytes of a message with this content between agents that have sent such messages before.
fn warm_bytes(object: &SharedObject) -> Result<usize, compact::DecodeError> {
    let mut body = Vec::new();
    let _ = compact::encode_body_of(object, &mut body);
    let head = AclMessage::new(Performative::Inform, Aid::new("ada", "here"), Aid::new("bob", "there"), Value::Null);
    let message = EncodedMessage { head, body: body.into() };
    let (mut encoder, mut decoder) = (Encoder::default(), Decoder::default());
    let mut bytes = Vec::new();
    for _ in 0..2 {
        bytes.clear();
        encoder.encode_sealed(&message, &mut bytes)?;
        assert!(decoder.decode_sealed(&bytes)? == message, "what was sent must arrive");
    }
    Ok(bytes.len())
}

/// Measures an `inform` of 60 characters between agents that have exchanged messages before: bytes beside the text, and
/// time there and back.
fn message(metrics: &mut Metrics) -> Result<(), compact::DecodeError> {
    let content = "the kettle in the kitchen boils; somebody should take it off";
    let message = AclMessage::new(Performative::Inform, Aid::new("ada", "here"), Aid::new("bob", "there"), content);
    let (mut encoder, mut decoder) = (Encoder::default(), Decoder::default());
    let mut bytes = Vec::new();
    let mut there_and_back = || {
        bytes.clear();
        let _ = encoder.encode_message(&message, &mut bytes);
        decoder.decode_message(&bytes).map(|message| (message, bytes.len()))
    };
    there_and_back()?;
    let (_, size) = there_and_back()?;
    metrics.push(("message_overhead_bytes", Some((size - content.len()) as f64)));
    metrics.push(("message_us", Some(median_us(there_and_back))));
    Ok(())
}

/// Looks at every value; a column that is one value for all rows once.
fn sum(node: &ValueView<'_>) -> i64 {
    match node {
        ValueView::Int(n) | ValueView::NumericText(n) => *n,
        ValueView::Text(text) => text.len() as i64,
        ValueView::Bool(truth) => i64::from(*truth),
        ValueView::List(items) => items.iter().map(sum).fold(0, i64::wrapping_add),
        ValueView::Array(array) => sum_array(array),
        ValueView::Object(object) => object.fields().map(|(_, field)| sum(field)).fold(0, i64::wrapping_add),
        _ => 0,
    }
}

fn sum_array(array: &Array<'_>) -> i64 {
    array.columns().iter().map(sum_column).fold(0, i64::wrapping_add)
}

fn sum_column(column: &Column<'_>) -> i64 {
    match column.cells() {
        Cells::Constant(node) => sum(node),
        Cells::Any(nodes) => nodes.iter().map(sum).fold(0, i64::wrapping_add),
        Cells::Bools(bits) => bits.iter().map(|byte| i64::from(byte.count_ones())).sum(),
        Cells::Ints(ints) | Cells::NumericTexts(ints) | Cells::Series(_, ints) | Cells::TextRefs(ints) => {
            let mut sum = 0_i64;
            ints.for_each(|n| sum = sum.wrapping_add(n));
            sum
        }
        Cells::Texts(_, run) => run.len() as i64,
        Cells::Lists(_, elements) => sum_array(elements),
        Cells::Table(table) => table.columns().iter().map(sum_column).fold(0, i64::wrapping_add),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn object_has_requested_size() {
        let figure = |kind, children, name| {
            let metrics = run(kind, children).unwrap();
            metrics.iter().find(|(found, _)| *found == name).and_then(|(_, value)| *value).unwrap()
        };
        assert!(figure(CodecObject::Same, 100, "bytes") <= 1600.0);
        assert!(figure(CodecObject::Varied, 100, "bytes") <= 4600.0);
        assert!(figure(CodecObject::Varied, 0, "warm_bytes") <= 60.0);
        assert!(figure(CodecObject::Same, 0, "message_overhead_bytes") <= 24.0);
    }
}
