//! The suite that every store is run through.

use std::cell::RefCell;
use std::sync::Arc;

use whimbrel_store::{Embedded, Memory, OpenOptions, Point, StoreFault};
use whimbrel_testkit::Random;
use whimbrel_testkit::stores::{Candidate, Store, run};

use crate::folders::StoreFolder;

struct InMemory {
    /// Faults by chance, from this seed on.
    seed: Option<u64>,
}

impl Candidate for InMemory {
    fn fresh(&self) -> Arc<dyn Store> {
        let memory = Memory::default();
        if let Some(seed) = self.seed {
            let mut random = Random::new(seed);
            memory.set_faults(move |point| by_chance(&mut random, point));
        }
        Arc::new(memory)
    }

    fn reopen(&self, store: Arc<dyn Store>) -> Arc<dyn Store> {
        store
    }
}

/// Three calls of ten go wrong in one way or another.
fn by_chance(random: &mut Random, point: Point<'_>) -> StoreFault {
    let count = match point {
        Point::Append(frames) => frames.len() as u64,
        _ => 1,
    };
    match random.between(0..=9) {
        0 => StoreFault::Fails,
        1 => StoreFault::Unknown(0),
        2 => StoreFault::Unknown(random.between(0..=count) as usize),
        _ => StoreFault::None,
    }
}

struct InFolders {
    options: OpenOptions,
    /// Cases come one after the other, each with one store.
    last: RefCell<Option<StoreFolder>>,
}

impl InFolders {
    fn new(segment_bytes: u64) -> Self {
        Self { options: OpenOptions { segment_bytes, ..OpenOptions::default() }, last: RefCell::default() }
    }
}

impl Candidate for InFolders {
    fn fresh(&self) -> Arc<dyn Store> {
        let folder = StoreFolder::new("conformance");
        let store = Arc::new(Embedded::open(folder.path(), &self.options).unwrap());
        *self.last.borrow_mut() = Some(folder);
        store
    }

    fn reopen(&self, store: Arc<dyn Store>) -> Arc<dyn Store> {
        assert_eq!(Arc::strong_count(&store), 1, "somebody else has it");
        drop(store);
        let store = Arc::new(Embedded::open(self.last.borrow().as_ref().unwrap().path(), &self.options).unwrap());
        assert_eq!(store.found().damage, []);
        assert_eq!(store.found().torn_bytes, 0);
        store
    }
}

fn passes(candidate: &dyn Candidate, with_faults: bool) {
    if let Err(why) = run(candidate, with_faults) {
        panic!("{why}");
    }
}

#[test]
fn memory_store_passes_the_suite() {
    passes(&InMemory { seed: None }, false);
}

#[test]
fn persistent_writer_survives_all_faults() {
    for seed in 1..=8 {
        passes(&InMemory { seed: Some(seed) }, true);
    }
}

#[test]
fn embedded_store_passes_the_suite() {
    passes(&InFolders::new(OpenOptions::default().segment_bytes), false);
}

#[test]
fn small_segments_pass_the_suite() {
    passes(&InFolders::new(128 << 10), false);
}
