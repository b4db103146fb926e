//! How many bytes may be on their way to a peer.

use std::time::Duration;

use crate::Time;
use crate::limits::{LINK_CREDIT_BYTES, LINK_FLIGHT_BYTES};

/// The window of bytes on their way: sent, and not dealt with by the peer. What is sent next waits behind them, so they
/// are few, and more only where the way is long: if a whole window is dealt with within two round trips, the way and not
/// the peer is what they wait for, and the window doubles.
#[derive(Debug)]
pub(super) struct Flight {
    window: u64,
    /// The shortest time in which the peer answered.
    round_trip: Option<Duration>,
    /// When these bytes have been dealt with, a window has.
    mark: u64,
    marked_at: Time,
    /// What had been dealt with then.
    dealt_then: u64,
    /// The window was full since then.
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

    /// Whether more may be sent, after so many bytes of which so many are dealt with.
    pub fn has_room(&self, sent: u64, dealt_with: u64) -> bool {
        sent < dealt_with + self.window
    }

    /// There was more to send than there was room.
    pub fn handle_full(&mut self, now: Time, sent: u64, dealt_with: u64) {
        if self.marked_at == Time::NEVER {
            (self.mark, self.marked_at, self.dealt_then) = (sent, now, dealt_with);
        }
        self.limited = true;
    }

    /// The peer answered a question after this time.
    pub fn handle_answer(&mut self, after: Duration) {
        self.round_trip = Some(self.round_trip.map_or(after, |known| known.min(after)));
    }

    /// The peer has dealt with so many bytes of so many. If the way was full all the time, how many it dealt with in what time.
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

    /// Sends as much as it may for a second, over a way that takes `way_us` each way to a peer that deals with so many
    /// bytes a millisecond; returns the largest window.
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
    fn a_short_way_keeps_the_window_small_however_slow_the_peer_is() {
        for bytes_per_ms in [1_000, 10_000, 100_000] {
            assert_eq!(largest_window(100, bytes_per_ms), LINK_FLIGHT_BYTES, "{bytes_per_ms} bytes/ms");
        }
    }

    #[test]
    fn a_long_way_to_a_fast_peer_makes_it_large() {
        assert_eq!(largest_window(50_000, 100_000), LINK_CREDIT_BYTES);
        assert_eq!(largest_window(50_000, 1_000), LINK_FLIGHT_BYTES, "the peer is what is waited for");
    }
}
