//! Snapshots of other releases: one fixture per layout, which every later release reads.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use whimbrel_platform::capabilities::Durable;

use whimbrel_acl::Text;
use whimbrel_bdi::Agent;
use whimbrel_bdi::code::Image;
use whimbrel_bdi::syntax::NoFiles;
use whimbrel_platform::{AgentBody, Time};
use whimbrel_testkit::Simulation;

use super::SharedAgent;

/// Time at which the agent was written, in milliseconds after its start.
const WRITTEN_MS: u64 = 200;
/// Time for which it continues then.
const REST_MS: u64 = 3_000;

fn folder(layout: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/snapshots").join(layout)
}

fn program(folder: &Path) -> Arc<Image> {
    let text = std::fs::read_to_string(folder.join("prog.asl")).expect("the fixture has a program");
    whimbrel_bdi::load(&text, &Text::from("prog.asl"), &mut NoFiles).expect("it compiles").0
}

/// Returns the agent's output from `start` on, on a platform that has run that long already.
fn output_from(agent: Agent, start: u64) -> Vec<String> {
    let mut simulation = Simulation::new(7);
    simulation.run_for(start);
    simulation.spawn("prog", Box::new(agent));
    simulation.run_for(REST_MS);
    simulation.output()
}

fn reads(layout: &str) {
    let folder = folder(layout);
    let (bytes, image) = (std::fs::read(folder.join("mind.bin")).expect("the fixture is there"), program(&folder));
    let expected = std::fs::read_to_string(folder.join("expected.txt")).expect("the fixture has an output");
    let start = 5_000;
    let agent = Agent::restore(&bytes, image, Time::from_ms(start)).expect("the layout is read");
    assert_eq!(output_from(agent, start), expected.lines().collect::<Vec<_>>());
}

#[test]
fn layout_3_is_read() {
    reads("layout-3");
}

#[test]
fn layout_4_is_read() {
    reads("layout-4");
    applies("layout-4");
}

/// Applies the delta of a fixture, and checks the output after it.
fn applies(layout: &str) {
    let folder = folder(layout);
    let read = |name: &str| std::fs::read(folder.join(name)).expect("the fixture is there");
    let expected = std::fs::read_to_string(folder.join("expected-after-delta.txt")).expect("the fixture has an output");
    let (start, image) = (5_000, program(&folder));
    let mut agent = Agent::restore(&read("mind.bin"), image, Time::from_ms(start)).expect("the layout is read");
    agent.apply_delta(&read("delta.bin"), Time::from_ms(start)).expect("the delta is applied");
    assert_eq!(output_from(agent, start), expected.lines().collect::<Vec<_>>());
}

/// Writes a fixture of this release's layout into the folder named by the variable `LAYOUT_FOLDER`, with the agent's
/// later output if it is left alone.
#[test]
#[ignore = "writes files; to be run once for each new layout"]
fn write_a_fixture() {
    let folder = folder(&std::env::var("LAYOUT_FOLDER").expect("LAYOUT_FOLDER names the folder"));
    let agent = SharedAgent::of(program(&folder));
    let mut simulation = Simulation::new(7);
    simulation.spawn("prog", Box::new(agent.clone()));
    simulation.run_for(WRITTEN_MS);
    let before = simulation.output().len();
    let bytes = agent.with(|agent| agent.snapshot(simulation.now())).expect("it is written out");
    assert!(agent.with(Agent::go_on_saving));
    simulation.run_for(WRITTEN_MS);
    let until_delta = simulation.output().len();
    let mut delta = Vec::new();
    assert!(agent.with(|agent| agent.save_delta(simulation.now(), &mut delta)));
    simulation.run_for(REST_MS);
    let after = |lines: usize| simulation.output().get(lines..).unwrap_or_default().join("\n") + "\n";
    let write = |name: &str, bytes: &[u8]| std::fs::write(folder.join(name), bytes).expect("it can be written");
    write("mind.bin", &bytes);
    write("delta.bin", &delta);
    write("expected.txt", after(before).as_bytes());
    write("expected-after-delta.txt", after(until_delta).as_bytes());
}
