//! Minds as bytes: what a device writes is what every platform of this code writes.

use std::path::{Path, PathBuf};

use super::Bench;

/// When the mind of the fixture was written out, in milliseconds after it began.
const WRITTEN_MS: u64 = 200;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/snapshots/layout-4")
}

fn written() -> Vec<u8> {
    let program = std::fs::read_to_string(folder().join("prog.asl")).expect("the fixture has a program");
    let mut bench = Bench::new(&[("prog.asl", &program)]);
    bench.society.spawn("prog", "prog.asl", &[]).expect("it is created");
    bench.pass(WRITTEN_MS);
    bench.society.snapshot("prog").expect("it can be written out")
}

/// The same file is compared with what the WebAssembly module writes (sdk/typescript/test/agentspeak.test.ts).
#[test]
fn a_mind_has_the_bytes_that_it_has_in_a_page() {
    let fixture = std::fs::read(folder().join("device.bin")).expect("the fixture is there");
    assert_eq!(written(), fixture);
}

#[test]
#[ignore = "writes a file; to be run when minds are written otherwise"]
fn write_the_fixture() {
    std::fs::write(folder().join("device.bin"), written()).expect("it can be written");
}

#[test]
fn a_mind_goes_on_in_another_society_with_what_waited_for_it() {
    let files = [("bob.asl", "!tick(0). +!tick(N) <- .print(N); .wait(100); !tick(N+1). +hi[source(A)] <- .print(A).")];
    let (mut here, mut there) = (Bench::new(&files), Bench::new(&files));
    here.society.spawn("bob", "bob.asl", &[]).expect("it is created");
    here.pass(150);
    here.society.set_suspended("bob", true).expect("it is active");
    let hi = br#"{"performative":"tell","sender":"amy","receivers":["bob"],"content":{"atom":"hi"}}"#;
    let hi = whimbrel_acl::codec::json::decode(hi).expect("it is a message");
    assert!(here.society.deliver(hi).is_empty());
    let (state, waiting) = here.society.depart("bob").expect("it is there");
    assert!(here.society.agents().is_empty() && here.ended().is_empty());
    here.society.counters().check().expect("messages add up");
    there.society.restore("bob", "bob.asl", &state).expect("the state is read");
    for message in &waiting {
        let message = whimbrel_acl::codec::json::decode(message.get().as_bytes()).expect("it is a message");
        assert!(there.society.deliver(message).is_empty());
    }
    there.pass(100);
    assert_eq!(
        (here.printed(), there.printed()),
        (vec!["[bob] 0".to_owned(), "[bob] 1".to_owned()], vec!["[bob] amy".to_owned(), "[bob] 2".to_owned()])
    );
    here.society.spawn("bob", "bob.asl", &[]).expect("its name is free");
}
