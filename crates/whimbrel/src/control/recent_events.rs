//! Recent events of a node, for clients of other nodes. They cannot watch this node, so they ask again and again; the
//! node keeps events only while one of them asks.

use std::collections::VecDeque;
use std::time::Duration;

use whimbrel_operator::{EventsFound, Feed, Happening, NodeEvent, SniffWanted};
use whimbrel_platform::limits::{RECENT_EVENTS_MAX, TRAFFIC_KEPT_MS};
use whimbrel_runtime::Platform;

use super::sniffer::{EventFeed, fits};
use super::while_asked::WhileAsked;

/// Recent events, shared by all clients that ask for them.
#[derive(Default)]
pub struct RecentEvents(WhileAsked<RunningEvents>);

struct RunningEvents {
    feed: EventFeed,
    kept: EventRing,
}

/// Newest events, each with its number.
#[derive(Debug, Default)]
struct EventRing {
    events: VecDeque<NodeEvent>,
    /// Number of the last event.
    last: u64,
}

impl EventRing {
    fn push(&mut self, event: NodeEvent) {
        self.last += 1;
        self.events.push_back(event);
        if self.events.len() > RECENT_EVENTS_MAX {
            self.events.pop_front();
        }
    }

    /// Returns the events after a number, with the number of deleted ones.
    fn after(&self, number: u64) -> (impl Iterator<Item = &NodeEvent>, u64) {
        let first = self.last - self.events.len() as u64;
        let known = number.max(first) - first;
        (self.events.iter().skip(known as usize), first.saturating_sub(number))
    }
}

impl RecentEvents {
    /// Returns the matching events of a node after a number; those of 0 begin now.
    pub(super) fn after(&self, platform: &Platform, node: &str, since: u64, wanted: &SniffWanted) -> EventsFound {
        let begin = || RunningEvents {
            feed: EventFeed::of_recent(platform, node),
            // A cursor of 0 asks for events from now on.
            kept: EventRing { last: 1, ..EventRing::default() },
        };
        let kept = Duration::from_millis(TRAFFIC_KEPT_MS);
        self.0.ask(kept, begin, |recent| recent.after(since, wanted)).unwrap_or_default()
    }
}

impl RunningEvents {
    fn after(&mut self, since: u64, wanted: &SniffWanted) -> EventsFound {
        self.feed.take().into_iter().for_each(|event| self.kept.push(event));
        let since = match since {
            0 => self.kept.last,
            // A cursor of an earlier time of keeping: the client knows none of the present events.
            since if since > self.kept.last => 1,
            since => since,
        };
        let (events, deleted) = self.kept.after(since);
        let mut events: Vec<NodeEvent> = events.filter(|event| fits(wanted, event)).cloned().collect();
        if let Some(first) = events.first().filter(|_| deleted > 0) {
            let gap = NodeEvent { what: Happening::Skipped { count: deleted }, ..first.clone() };
            events.insert(0, gap);
        }
        EventsFound { events, next: self.kept.last }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_ring_tells_deleted_events() {
        let mut ring = EventRing::default();
        for number in 0..RECENT_EVENTS_MAX as u64 + 3 {
            ring.push(NodeEvent { at_us: number, node: "n1".to_owned(), what: Happening::Tick });
        }
        let (events, deleted) = ring.after(1);
        assert_eq!((events.count(), deleted), (RECENT_EVENTS_MAX, 2));
        let (mut events, deleted) = ring.after(ring.last - 1);
        let event = events.next().map(|event| event.at_us);
        assert_eq!((event, deleted), (Some(RECENT_EVENTS_MAX as u64 + 2), 0));
    }
}
