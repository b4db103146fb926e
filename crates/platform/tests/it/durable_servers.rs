//! Servers of partitions, and the messages that are accepted from them.

use whimbrel_platform::durable::{AnnouncementKind, Servers};
use whimbrel_platform::store::{Epoch, Partition};

const HERE: Partition = Partition(0);
const THERE: Partition = Partition(1);

/// Returns servers in which this node serves the one partition, `"a"` the other, and each knows.
fn servers() -> Servers<&'static str> {
    let mut servers = Servers::new(2);
    servers.serve(HERE, Epoch(1));
    assert_eq!(servers.hear_serves("a", THERE, Epoch(1)), AnnouncementKind::News);
    servers.hear_again("a", HERE, Epoch(1));
    assert!(servers.takes("a", THERE, HERE));
    servers
}

#[test]
fn former_senders_server_is_ignored() {
    let mut servers = servers();
    assert_eq!(servers.hear_serves("b", THERE, Epoch(2)), AnnouncementKind::News);
    assert_eq!(servers.server_of(THERE), Some("b"));
    assert!(!servers.takes("a", THERE, HERE));
    assert!(!servers.takes("b", THERE, HERE), "it did not say again what may be lost");
    servers.hear_again("b", HERE, Epoch(1));
    assert!(servers.takes("b", THERE, HERE));
    assert_eq!(servers.hear_serves("a", THERE, Epoch(1)), AnnouncementKind::Stale);
    assert!(servers.takes("b", THERE, HERE));
}

#[test]
fn message_before_known_epoch_is_dropped() {
    let mut servers = servers();
    servers.give_up(HERE);
    assert!(!servers.takes("a", THERE, HERE));
    servers.serve(HERE, Epoch(3));
    assert!(!servers.takes("a", THERE, HERE), "it may not know of this term");
    servers.hear_again("a", HERE, Epoch(3));
    assert!(servers.takes("a", THERE, HERE));
}

#[test]
fn new_link_starts_anew() {
    let mut servers = servers();
    servers.unlinked("a");
    assert_eq!((servers.server_of(THERE), servers.takes("a", THERE, HERE)), (None, false));
    assert_eq!(servers.hear_serves("a", THERE, Epoch(1)), AnnouncementKind::News);
    assert!(!servers.takes("a", THERE, HERE));
    servers.hear_again("a", HERE, Epoch(1));
    assert!(servers.takes("a", THERE, HERE));
}

#[test]
fn later_epoch_deposes_server() {
    let mut servers = servers();
    assert_eq!(servers.served().collect::<Vec<_>>(), [(HERE, Epoch(1))]);
    assert_eq!(servers.hear_serves("a", HERE, Epoch(1)), AnnouncementKind::Stale, "there is one of each term");
    assert_eq!(servers.hear_serves("a", HERE, Epoch(2)), AnnouncementKind::Deposed);
    assert_eq!((servers.served().count(), servers.server_of(HERE)), (0, Some("a")));
}

#[test]
fn unknown_partition_has_no_server() {
    let mut servers = servers();
    let none = Partition(2);
    servers.serve(none, Epoch(1));
    servers.give_up(none);
    assert_eq!(servers.hear_serves("a", none, Epoch(1)), AnnouncementKind::Stale);
    assert!(servers.server_of(none).is_none() && !servers.takes("a", none, HERE) && !servers.takes("a", THERE, none));
}
