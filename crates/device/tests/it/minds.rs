//! Minds as bytes. That they are the same in WebAssembly is tested there (examples/mind.rs).

use super::Bench;

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
