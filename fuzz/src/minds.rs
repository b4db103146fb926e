//! Properties of decoded minds and deltas, for any bytes. The fuzz target looks for violations; a test of
//! `whimbrel-bdi` replays those that were found.

use std::sync::{Arc, LazyLock};

use whimbrel_acl::Text;
use whimbrel_bdi::Agent;
use whimbrel_bdi::code::Image;
use whimbrel_bdi::syntax::NoFiles;
use whimbrel_platform::{AgentBody, Time};

/// The program that all minds are of, and one of them.
const PROGRAM: &str = include_str!("../../conformance/snapshots/layout-4/prog.asl");
const MIND: &[u8] = include_bytes!("../../conformance/snapshots/layout-4/mind.bin");
const DELTA: &[u8] = include_bytes!("../../conformance/snapshots/layout-4/delta.bin");
const OLDER: &[u8] = include_bytes!("../../conformance/snapshots/layout-3/mind.bin");

/// Time at which the minds are read.
const NOW: Time = Time(1_000_000);

fn image() -> Arc<Image> {
    static IMAGE: LazyLock<Arc<Image>> = LazyLock::new(|| {
        let loaded = whimbrel_bdi::load(PROGRAM, &Text::from("prog.asl"), &mut NoFiles);
        loaded.map(|(image, _)| image).expect("the program is well formed")
    });
    Arc::clone(&IMAGE)
}

/// A mind or a delta: an error, or a mind that is written so that the same is read again.
pub fn mind_decoder(bytes: &[u8]) {
    if let Ok(agent) = Agent::restore(bytes, image(), NOW) {
        comes_back(&agent);
    }
    let mut agent = Agent::restore(MIND, image(), NOW).expect("the fixture is read");
    if agent.apply_delta(bytes, NOW).is_ok() {
        comes_back(&agent);
    }
}

fn comes_back(agent: &Agent) {
    let written = agent.snapshot(NOW).expect("what was read is written");
    let again = Agent::restore(&written, image(), NOW).expect("what was written is read");
    assert_eq!(again.snapshot(NOW), Some(written));
}

/// Minds and a delta to start from.
pub fn seeds() -> Vec<Vec<u8>> {
    [MIND, DELTA, OLDER].map(<[u8]>::to_vec).to_vec()
}
