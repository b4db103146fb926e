//! A reader's real allocations stay within its budget, whatever the bytes.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use whimbrel_acl::compact::view::View;
use whimbrel_acl::compact::{self, Limits, decode_body, encode_body};
use whimbrel_acl::{Text, Value};

/// Counts the bytes each thread holds, and the most it held.
struct CountingAllocator;

thread_local! {
    static HELD: Cell<isize> = const { Cell::new(0) };
    static MOST: Cell<isize> = const { Cell::new(0) };
}

fn count(bytes: isize) {
    // A thread that ends has no counters any more.
    let _ = HELD.try_with(|held| {
        held.set(held.get() + bytes);
        let _ = MOST.try_with(|most| most.set(most.get().max(held.get())));
    });
}

// SAFETY: all work is the system's allocator's; the counters do not allocate.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: as the caller promised.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: as the caller promised.
        unsafe { System.dealloc(place, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// Returns the most bytes held at once during `work`, beyond those held before.
fn most_held(work: impl FnOnce()) -> isize {
    let before = HELD.get();
    MOST.set(before);
    work();
    MOST.get() - before
}

const BUDGET: usize = 1 << 20;

#[derive(compact::Encode, compact::Decode)]
#[compact(name = "row")]
#[allow(dead_code)]
struct BudgetRow {
    text: Text,
    own: Option<String>,
    numbers: Vec<i32>,
    truths: Vec<bool>,
    blob: Option<Vec<u8>>,
    rows: Vec<BudgetRow>,
}

/// Short bytes that say very much.
fn bombs() -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    let row = |n: i64, text: &str| {
        Value::record(
            "row",
            [
                ("text".into(), Value::from(text)),
                ("own".into(), Value::from(text)),
                ("numbers".into(), Value::list((0..50).map(|_| Value::Int(n)).collect::<Vec<_>>())),
                ("truths".into(), Value::list(vec![Value::Bool(true); 50])),
                ("blob".into(), Value::from(vec![0; 5000])),
                ("rows".into(), Value::Nil),
            ],
        )
    };
    let long = "a long text that everyone repeats ".repeat(30);
    for count in [1, 100, 1000, 5000, 100_000] {
        for value in [Value::Int(7), Value::from(long.as_str()), Value::from(vec![7; 1000]), row(7, &long)] {
            let mut body = Vec::new();
            encode_body(&Value::list(vec![value; count]), &mut body).unwrap();
            all.push(body);
        }
    }
    let rows = |count: i64| Value::list((0..count).map(|n| row(n, &long)).collect::<Vec<_>>());
    for count in [10, 1000, 3000] {
        let mut body = Vec::new();
        encode_body(&rows(count), &mut body).unwrap();
        all.push(body);
    }
    all
}

fn decoded_within_budget(bytes: &[u8]) {
    let limits = Limits::DEFAULT.with_budget_bytes(BUDGET);
    // Estimates need not be exact: twice the budget, and a few small vectors.
    let bound = (2 * BUDGET + 64 * 1024) as isize;
    let dynamic = most_held(|| drop(decode_body(bytes, limits)));
    let typed = most_held(|| drop(compact::decode_body_as::<Vec<BudgetRow>>(bytes, limits)));
    let viewed = most_held(|| drop(View::open_body(bytes, limits)));
    for (held, how) in [(dynamic, "dynamic"), (typed, "typed"), (viewed, "viewed")] {
        assert!(held <= bound, "{how}: {} bytes made a reader hold {held}", bytes.len());
    }
}

#[test]
fn short_input_cannot_exceed_budget() {
    for bomb in bombs() {
        decoded_within_budget(&bomb);
    }
}

#[test]
fn mutated_input_stays_within_budget() {
    let mut random = 1_u64;
    for bomb in bombs() {
        for _ in 0..60 {
            let mut changed = bomb.clone();
            for _ in 0..3 {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let at = (random >> 33) as usize % changed.len().min(300);
                changed[at] = (random >> 17) as u8;
            }
            decoded_within_budget(&changed);
        }
    }
}
