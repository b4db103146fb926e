//! Minds as bytes. That they are the same in WebAssembly is tested there (examples/mind.rs).

use whimbrel_device::{AgentSnapshotError, SocietyEvent};
use whimbrel_platform::inspection::{DebugOrder, Instruction};

use super::TestSociety;

#[test]
fn restored_mind_keeps_its_mailbox() {
    let files = [("bob.asl", "!tick(0). +!tick(N) <- .print(N); .wait(100); !tick(N+1). +hi[source(A)] <- .print(A).")];
    let (mut here, mut there) = (TestSociety::new(&files), TestSociety::new(&files));
    here.society.spawn("bob", "bob.asl", &[]).expect("it is created");
    here.pass(150);
    here.society.set_suspended("bob", true).expect("it is active");
    let hi = br#"{"performative":"tell","sender":"amy","receivers":["bob"],"content":{"atom":"hi"}}"#;
    let hi = whimbrel_acl::codec::json::decode(hi).expect("it is a message");
    assert!(here.society.deliver(hi).is_empty());
    let (state, waiting) = here.society.depart("bob").expect("it is there");
    assert!(here.society.agents().is_empty() && here.ended().is_empty());
    here.society.counters().check().expect("messages add up");
    there.society.restore("bob", "bob.asl", &state, None).expect("the state is read");
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

/// Moves in the middle of a plan, while another intention runs, and prints the outcome.
const WANDERER: &str = r#"
!go(1).
!tick(0).
+!go(N) <- .move_to(n2); .node(Here); .print(N, " at ", Here).
-!go(N)[error(E), error_msg(M)] <- .node(Here); .print(E, " at ", Here, ": ", M).
+!tick(N) <- .print("tick ", N); .wait(100); !tick(N + 1).
"#;

fn places() -> (TestSociety, TestSociety) {
    let files = [("wanderer.asl", WANDERER)];
    let (mut here, mut there) = (TestSociety::new(&files), TestSociety::new(&files));
    here.society.attach(Some("home"), "tab-1");
    there.society.attach(Some("home"), "tab-2");
    (here, there)
}

fn leaving(bench: &mut TestSociety) -> Vec<(String, String)> {
    let news = bench.happened.iter().filter_map(|event| match event {
        SocietyEvent::Leaving { agent, to } => Some((agent.clone(), to.clone())),
        _ => None,
    });
    news.collect()
}

#[test]
fn moved_mind_continues_after_step() {
    let (mut here, mut there) = places();
    here.society.spawn("bob", "wanderer.asl", &[]).expect("it is created");
    assert!(here.society.set_kept("bob", true));
    here.pass(0);
    assert_eq!(leaving(&mut here), [("bob".to_owned(), "n2".to_owned())]);
    let ticks = here.printed();
    here.pass(500);
    assert_eq!(here.printed(), ticks, "it has no turns");
    let state = here.society.leave("bob").expect("it is there");
    here.society.depart("bob").expect("it is there still");
    there.society.restore("bob", "wanderer.asl", &state, Some("tab-1")).expect("the state is read");
    there.pass(150);
    let printed = there.printed();
    assert!(printed.contains(&"[bob] 1 at tab-2".to_owned()), "{printed:?}");
    assert!(printed.contains(&"[bob] tick 1".to_owned()), "{printed:?}");
    // A mind that was not told of its move continues there, too: the state says so.
    let (_, mut other) = places();
    other.society.restore("bob", "wanderer.asl", &state, None).expect("the state is read");
    other.pass(150);
    assert_eq!(other.printed(), printed);
}

#[test]
fn refused_move_tells_the_mind() {
    let words = [
        "no_such_node",
        "already_there",
        "forbidden",
        "refused",
        "too_large",
        "unreachable",
        "stopping",
        "not_movable",
    ];
    for why in words {
        let (mut here, _) = places();
        here.society.spawn("bob", "wanderer.asl", &[]).expect("it is created");
        assert!(here.society.set_kept("bob", true));
        here.pass(0);
        here.society.leave("bob").expect("it is there");
        here.pass(150);
        assert!(here.society.stay("bob", why, "nobody lets it in"));
        here.pass(150);
        let printed = here.printed();
        assert!(printed.iter().any(|line| line.starts_with(&format!("[bob] {why} at tab-1: "))), "{printed:?}");
        assert!(printed.contains(&"[bob] tick 1".to_owned()), "{printed:?}");
    }
    let (mut here, _) = places();
    assert!(!here.society.stay("bob", "refused", ""));
}

#[test]
fn impossible_move_tells_the_mind() {
    let hear = |attached: Option<&str>, kept: bool, place: &str| {
        let (mut here, _) = places();
        here.society.attach(attached, place);
        here.society.spawn("bob", "wanderer.asl", &[]).expect("it is created");
        here.society.set_kept("bob", kept);
        here.pass(0);
        assert!(leaving(&mut here).is_empty());
        here.printed().into_iter().find(|line| !line.contains("tick")).expect("it says why")
    };
    let unkept = "[bob] not_movable at tab-1: it cannot move: its platform does not keep it";
    assert_eq!(hear(Some("home"), false, "tab-1"), unkept);
    assert_eq!(
        hear(None, true, "tab-1"),
        "[bob] no_such_node at tab-1: this platform is one node: there is nowhere to go"
    );
    assert_eq!(hear(Some("home"), true, "n2"), "[bob] already_there at n2: it is on node n2 already");
}

#[test]
fn debugged_mind_cannot_leave() {
    let (mut here, mut there) = places();
    here.society
        .put_file("wanderer.asl", "!tick(0). +!tick(N) <- .print(N); .wait(100); !tick(N + 1).")
        .expect("it is put");
    there
        .society
        .put_file("wanderer.asl", "!tick(0). +!tick(N) <- .print(N); .wait(100); !tick(N + 1).")
        .expect("it is put");
    here.society.spawn("bob", "wanderer.asl", &[]).expect("it is created");
    here.pass(150);
    here.society.instruct("bob", &Instruction::Debug(DebugOrder::Pause)).expect("it pauses");
    here.pass(0);
    assert_eq!(here.society.leave("bob"), Err(AgentSnapshotError::Held));
    here.society.instruct("bob", &Instruction::Debug(DebugOrder::End)).expect("it goes on");
    here.pass(0);
    let state = here.society.leave("bob").expect("it is there");
    here.society.depart("bob").expect("it is there still");
    there.society.restore("bob", "wanderer.asl", &state, Some("tab-1")).expect("the state is read");
    there.pass(100);
    assert_eq!(
        (here.printed(), there.printed()),
        (vec!["[bob] 0".to_owned(), "[bob] 1".to_owned()], vec!["[bob] 2".to_owned()])
    );
}
