//! The suite that every store is run through, on one server and on three.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use whimbrel_testkit::stores::{Candidate, Store, cases};

use super::engine::{TestEngine, connect};

struct InNats {
    engine: TestEngine,
    addresses: RefCell<HashMap<*const (), String>>,
}

impl InNats {
    fn open(&self, address: String) -> Arc<dyn Store> {
        let store = Arc::new(connect(&address));
        self.addresses.borrow_mut().insert(Arc::as_ptr(&store).cast(), address);
        store
    }
}

impl Candidate for InNats {
    fn fresh(&self) -> Arc<dyn Store> {
        self.open(self.engine.fresh())
    }

    fn reopen(&self, store: Arc<dyn Store>) -> Arc<dyn Store> {
        let address = self.addresses.borrow()[&Arc::as_ptr(&store).cast()].clone();
        assert_eq!(Arc::strong_count(&store), 1, "somebody else has it");
        drop(store);
        self.open(address)
    }
}

fn passes(servers: u8, sync_always: bool) {
    let Some(engine) = TestEngine::start(servers, sync_always) else { return };
    let candidate = InNats { engine, addresses: RefCell::default() };
    for case in cases() {
        let began = Instant::now();
        if let Err(why) = (case.run)(&candidate) {
            panic!("{}: {why}", case.name);
        }
        eprintln!("{servers} servers, {:.1} s: {}", began.elapsed().as_secs_f64(), case.name);
    }
}

#[test]
fn one_server_passes_the_suite() {
    passes(1, false);
}

#[test]
fn three_servers_pass_the_suite() {
    passes(3, true);
}
