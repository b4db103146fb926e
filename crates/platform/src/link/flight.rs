//! Flight window: the number of bytes on their way to a peer.

use std::time::Duration;

use crate::Time;
use crate::limits::{LINK_CREDIT_BYTES, LINK_FLIGHT_BYTES};

/// Window of bytes that are sent and that the peer has not dealt with. New bytes wait behind them, so the window is
/// small, and grows only on links with long round trips. If the peer deals with a whole window within two round trips,
/// the link and not the peer is the bottleneck, and the window doubles.
#[derive(Debug)]
pub(super) struct Flight {
    window: u64,
    /// Shortest time in which the peer answered.
    round_trip: Option<Duration>,
    /// Count of dealt-with bytes that ends the present window.
    mark: u64,
    marked_at: Time,
    /// Count of dealt-with bytes when the present window began.
    dealt_then: u64,
    /// Full window at some time since then.
    limited: bool,
}

impl Flight {
    pub fn new() -> Self {
        Self {
            window: LINK_FLIGHT_BYTES,
            round_trip: None,
            mark: 0,
            marked_at: Time::NEVER,
            dealt_then: 0,
            limited: false,
        }
    }

    /// Returns true if more may be sent, given the counts of sent and dealt-with bytes.
    pub fn has_room(&self, sent: u64, dealt_with: u64) -> bool {
        sent < dealt_with + self.window
    }

    /// Notes that there was more to send than there was room.
    pub fn handle_full(&mut self, now: Time, sent: u64, dealt_with: u64) {
        if self.marked_at == Time::NEVER {
            (self.mark, self.marked_at, self.dealt_then) = (sent, now, dealt_with);
        }
        self.limited = true;
    }

    /// Takes in the time in which the peer answered a question.
    pub fn handle_answer(&mut self, after: Duration) {
        self.round_trip = Some(self.round_trip.map_or(after, |known| known.min(after)));
    }

    /// Takes in the count of bytes that the peer has dealt with. If the window was full all the time, returns the bytes
    /// dealt with in it, and the time that took.
    pub fn handle_dealt_with(&mut self, now: Time, dealt_with: u64, sent: u64) -> Option<(u64, Duration)> {
        if self.marked_at == Time::NEVER || dealt_with < self.mark {
            return None;
        }
        let took = now - self.marked_at;
        let busy = self.limited.then_some((dealt_with - self.dealt_then, took));
        if let Some(round_trip) = self.round_trip.filter(|_| self.limited) {
            if took < round_trip * 2 {
                self.window = (self.window * 2).min(LINK_CREDIT_BYTES);
            } else if took > round_trip * 4 {
                self.window = (self.window / 2).max(LINK_FLIGHT_BYTES);
            }
        }
        (self.mark, self.marked_at, self.limited, self.dealt_then) = (sent, now, false, dealt_with);
        if sent == dealt_with {
            self.marked_at = Time::NEVER;
        }
        busy
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends as much as allowed for a second, with a one-way delay of `way_us`. The peer deals with this number of
    /// bytes a millisecond. Returns the largest window.
    fn largest_window(way_us: u64, bytes_per_ms: u64) -> u64 {
        let mut flight = Flight::new();
        flight.handle_answer(Duration::from_micros(2 * way_us));
        let (mut sent, mut at_peer, mut dealt, mut largest) = (0, 0, 0, 0);
        let mut on_the_way = std::collections::VecDeque::new();
        let mut answers = std::collections::VecDeque::new();
        for us in (0..1_000_000).step_by(100) {
            let now = Time(us);
            while on_the_way.front().is_some_and(|(at, _)| *at <= us) {
                at_peer = on_the_way.pop_front().map_or(0, |(_, sent)| sent);
            }
            dealt = (dealt + bytes_per_ms / 10).min(at_peer);
            answers.push_back((us + way_us, dealt));
            let mut told = 0;
            while answers.front().is_some_and(|(at, _)| *at <= us) {
                told = answers.pop_front().map_or(0, |(_, dealt)| dealt);
                flight.handle_dealt_with(now, told, sent);
            }
            while flight.has_room(sent, told) {
                sent += 16 << 10;
                on_the_way.push_back((us + way_us, sent));
            }
            flight.handle_full(now, sent, told);
            largest = largest.max(flight.window);
        }
        largest
    }

    #[test]
    fn short_round_trip_keeps_window_small() {
        for bytes_per_ms in [1_000, 10_000, 100_000] {
            assert_eq!(largest_window(100, bytes_per_ms), LINK_FLIGHT_BYTES, "{bytes_per_ms} bytes/ms");
        }
    }

    #[test]
    fn long_round_trip_grows_window() {
        assert_eq!(largest_window(50_000, 100_000), LINK_CREDIT_BYTES);
        assert_eq!(largest_window(50_000, 1_000), LINK_FLIGHT_BYTES, "the peer is what is waited for");
    }
}
