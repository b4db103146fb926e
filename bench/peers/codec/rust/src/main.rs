//! Benchmark of one Rust codec on the object of the Jadex study: codec-peer NAME same|varied CHILDREN; one line of
//! JSON.
//!
//! The data are those of `whimbrel bench codec`. The types are those that each codec needs: children in bitcode's type
//! have none of their own, since it takes no recursive types, and protobuf's numbers are its own.

use std::hint::black_box;
use std::time::{Duration, Instant};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[derive(serde::Serialize, serde::Deserialize, Clone, PartialEq)]
#[derive(rkyv::Archive, rkyv::Serialize, rkyv::Deserialize)]
#[rkyv(serialize_bounds(__S: rkyv::ser::Writer + rkyv::ser::Allocator, __S::Error: rkyv::rancor::Source))]
#[rkyv(deserialize_bounds(__D::Error: rkyv::rancor::Source))]
#[rkyv(bytecheck(bounds(__C: rkyv::validation::ArchiveContext, __C::Error: rkyv::rancor::Source)))]
struct TestObject {
    text: String,
    random: String,
    number: i32,
    numbers: Vec<i32>,
    truths: Vec<bool>,
    #[rkyv(omit_bounds)]
    children: Vec<TestObject>,
}

#[derive(bitcode::Encode, bitcode::Decode, PartialEq)]
struct ChildObject {
    text: String,
    random: String,
    number: i32,
    numbers: Vec<i32>,
    truths: Vec<bool>,
}

#[derive(bitcode::Encode, bitcode::Decode, PartialEq)]
struct Parent {
    own: ChildObject,
    children: Vec<ChildObject>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Proto {
    #[prost(string, tag = "1")]
    text: String,
    #[prost(string, tag = "2")]
    random: String,
    #[prost(int32, tag = "3")]
    number: i32,
    #[prost(int32, repeated, tag = "4")]
    numbers: Vec<i32>,
    #[prost(bool, repeated, tag = "5")]
    truths: Vec<bool>,
    #[prost(message, repeated, tag = "6")]
    children: Vec<Proto>,
}

/// xorshift64*: the same data in every run.
struct XorShift(u64);

impl XorShift {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    fn below(&mut self, end: u64) -> i32 {
        ((self.next() >> 16) % end) as i32
    }
}

fn object(varied: bool, children: u64, text: &str, random: &mut XorShift) -> TestObject {
    TestObject {
        text: text.to_owned(),
        random: (random.next() as i64).to_string(),
        number: if varied { random.below(100_000) } else { 42_000 },
        numbers: (0..20).map(|n| if varied { random.below(1000) } else { n * 37 }).collect(),
        truths: (0..20).map(|n| if varied { random.next() >> 63 == 1 } else { n % 3 == 0 }).collect(),
        children: (0..children).map(|_| object(varied, 0, text, random)).collect(),
    }
}

fn child(object: &TestObject) -> ChildObject {
    let TestObject { text, random, number, numbers, truths, .. } = object.clone();
    ChildObject { text, random, number, numbers, truths }
}

fn proto(object: &TestObject) -> Proto {
    let TestObject { text, random, number, numbers, truths, children } = object.clone();
    Proto { text, random, number, numbers, truths, children: children.iter().map(proto).collect() }
}

const MEASURED: Duration = Duration::from_millis(400);
const SAMPLES: u128 = 400;

/// The median time of one `work`, in microseconds.
fn median_us<T>(mut work: impl FnMut() -> T) -> f64 {
    let started = Instant::now();
    black_box(work());
    let once = started.elapsed().max(Duration::from_nanos(20)).as_nanos();
    let rounds = (MEASURED.as_nanos() / SAMPLES / once).max(1);
    let samples = if rounds == 1 { (MEASURED.as_nanos() / once).clamp(5, SAMPLES) } else { SAMPLES };
    let mut times: Vec<f64> = (0..samples)
        .map(|_| {
            let started = Instant::now();
            (0..rounds).for_each(|_| drop(black_box(work())));
            started.elapsed().as_secs_f64() * 1e6 / rounds as f64
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn report<T: PartialEq, B: AsRef<[u8]>>(name: &str, thing: &T, encode: impl Fn(&T) -> B, decode: impl Fn(&[u8]) -> T) {
    let bytes = encode(thing);
    assert!(decode(bytes.as_ref()) == *thing, "what was encoded must come back");
    let encode_us = median_us(|| encode(black_box(thing)));
    let decode_us = median_us(|| decode(black_box(bytes.as_ref())));
    println!(
        "{{\"bench\": \"codec\", \"peer\": \"{name}\", \"metrics\": {{\"bytes\": {}, \"encode_us\": {encode_us:.3}, \"decode_us\": {decode_us:.3}}}}}",
        bytes.as_ref().len()
    );
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, name, kind, children] = arguments.as_slice() else { panic!("codec-peer NAME same|varied CHILDREN") };
    let words = "Lorem ipsum dolor sit amet, consectetur adipisici elit, sed eiusmod tempor. ".repeat(7);
    let count = children.parse().expect("a number of children");
    let object = object(kind == "varied", count, &words[..514], &mut XorShift(0x9E37_79B9_7F4A_7C15));
    match name.as_str() {
        "messagepack" => report(
            name,
            &object,
            |object| rmp_serde::to_vec_named(object).expect("encodes"),
            |bytes| rmp_serde::from_slice::<TestObject>(bytes).expect("decodes"),
        ),
        "cbor" => report(
            name,
            &object,
            |object| {
                let mut out = Vec::new();
                ciborium::into_writer(object, &mut out).expect("encodes");
                out
            },
            |bytes| ciborium::from_reader::<TestObject, _>(bytes).expect("decodes"),
        ),
        "protobuf" => report(
            name,
            &proto(&object),
            prost::Message::encode_to_vec,
            |bytes| <Proto as prost::Message>::decode(bytes).expect("decodes"),
        ),
        "bitcode" => report(
            name,
            &Parent { own: child(&object), children: object.children.iter().map(child).collect() },
            |parent| bitcode::encode(parent),
            |bytes| bitcode::decode::<Parent>(bytes).expect("decodes"),
        ),
        "rkyv" => report(
            name,
            &object,
            |object| rkyv::to_bytes::<rkyv::rancor::Error>(object).expect("encodes"),
            |bytes| rkyv::from_bytes::<TestObject, rkyv::rancor::Error>(bytes).expect("decodes"),
        ),
        other => panic!("no codec {other}"),
    }
}
