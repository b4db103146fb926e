//! Who serves which partition, and what is taken from whom.

use whimbrel_platform::durable::{Heard, Servers};
use whimbrel_platform::store::{Epoch, Partition};

const HERE: Partition = Partition(0);
const THERE: Partition = Partition(1);

/// This node serves the one partition, `"a"` the other, and each knows.
fn servers() -> Servers<&'static str> {
    let mut servers = Servers::new(2);
    servers.serve(HERE, Epoch(1));
    assert_eq!(servers.hear_serves("a", THERE, Epoch(1)), Heard::News);
    servers.hear_again("a", HERE, Epoch(1));
    assert!(servers.takes("a", THERE, HERE));
    servers
}

#[test]
fn who_served_the_senders_before_is_no_longer_listened_to() {
    let mut servers = servers();
    assert_eq!(servers.hear_serves("b", THERE, Epoch(2)), Heard::News);
    assert_eq!(servers.server_of(THERE), Some("b"));
    assert!(!servers.takes("a", THERE, HERE));
    assert!(!servers.takes("b", THERE, HERE), "it did not say again what may be lost");
    servers.hear_again("b", HERE, Epoch(1));
    assert!(servers.takes("b", THERE, HERE));
    assert_eq!(servers.hear_serves("a", THERE, Epoch(1)), Heard::Stale);
    assert!(servers.takes("b", THERE, HERE));
}

#[test]
fn what_was_sent_before_the_term_was_known_is_not_taken() {
    let mut servers = servers();
    servers.give_up(HERE);
    assert!(!servers.takes("a", THERE, HERE));
    servers.serve(HERE, Epoch(3));
    assert!(!servers.takes("a", THERE, HERE), "it may not know of this term");
    servers.hear_again("a", HERE, Epoch(3));
    assert!(servers.takes("a", THERE, HERE));
}

#[test]
fn a_link_that_is_anew_begins_anew() {
    let mut servers = servers();
    servers.unlinked("a");
    assert_eq!((servers.server_of(THERE), servers.takes("a", THERE, HERE)), (None, false));
    assert_eq!(servers.hear_serves("a", THERE, Epoch(1)), Heard::News);
    assert!(!servers.takes("a", THERE, HERE));
    servers.hear_again("a", HERE, Epoch(1));
    assert!(servers.takes("a", THERE, HERE));
}

#[test]
fn who_hears_of_a_later_term_of_what_it_serves_is_deposed() {
    let mut servers = servers();
    assert_eq!(servers.served().collect::<Vec<_>>(), [(HERE, Epoch(1))]);
    assert_eq!(servers.hear_serves("a", HERE, Epoch(1)), Heard::Stale, "there is one of each term");
    assert_eq!(servers.hear_serves("a", HERE, Epoch(2)), Heard::Deposed);
    assert_eq!((servers.served().count(), servers.server_of(HERE)), (0, Some("a")));
}

#[test]
fn what_no_store_has_is_nobodys() {
    let mut servers = servers();
    let none = Partition(2);
    servers.serve(none, Epoch(1));
    servers.give_up(none);
    assert_eq!(servers.hear_serves("a", none, Epoch(1)), Heard::Stale);
    assert!(servers.server_of(none).is_none() && !servers.takes("a", none, HERE) && !servers.takes("a", THERE, none));
}
