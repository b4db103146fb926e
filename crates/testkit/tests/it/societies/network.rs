//! Links between nodes: each in order and with a delay. If a link breaks, its news are lost, and the two ends find out
//! one after the other.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use whimbrel_acl::Symbol;
use whimbrel_platform::Time;
use whimbrel_platform::durable::{Facts, Sent, Ticket};
use whimbrel_platform::store::{Epoch, Partition};
use whimbrel_testkit::Random;

/// News on a link.
#[derive(Debug)]
pub enum SocietyNews {
    Serves(Vec<(Partition, Epoch)>),
    Again(Partition, Epoch),
    Letter(Ticket, Symbol, Sent),
    Facts(Facts),
}

/// Maximal delay of most news, in milliseconds; and of some, with all news behind them.
const DELAY_MS: u64 = 60;
const STALL_MS: u64 = 4_000;
/// Number of news among which one takes longer.
const STALLS: u64 = 150;
/// Maximal time until an end finds that its link is broken, in milliseconds.
const NOTICE_MS: u64 = 700;

#[derive(Default)]
pub struct SocietyNetwork {
    links: BTreeMap<(usize, usize), SocietyLink>,
}

enum SocietyLink {
    /// News on their way from the first and from the second of the two nodes.
    Up([VecDeque<(Time, SocietyNews)>; 2]),
    /// Earliest time at which the link comes back; and when each end will find that it is broken, if it has not.
    Down(Time, [Option<Time>; 2]),
}

fn key(one: usize, other: usize) -> ((usize, usize), usize) {
    ((one.min(other), one.max(other)), usize::from(one > other))
}

impl SocietyNetwork {
    pub fn send(&mut self, from: usize, to: usize, news: SocietyNews, now: Time, random: &mut Random) {
        let (key, end) = key(from, to);
        if let Some(SocietyLink::Up(ways)) = self.links.get_mut(&key) {
            let after = ways[end].back().map_or(now, |(at, _)| *at);
            let longest = if random.one_in(STALLS) { STALL_MS } else { DELAY_MS };
            let delay = random.between(1..=longest);
            ways[end].push_back((after.max(now + Duration::from_millis(delay)), news));
        }
    }

    /// Takes the next news that have arrived.
    pub fn receive(&mut self, from: usize, to: usize, now: Time) -> Option<SocietyNews> {
        let (key, end) = key(from, to);
        let Some(SocietyLink::Up(ways)) = self.links.get_mut(&key) else { return None };
        ways[end].pop_front_if(|(at, _)| *at <= now).map(|(_, news)| news)
    }

    /// Breaks a link for a while.
    pub fn cut(&mut self, one: usize, other: usize, now: Time, time: Duration, random: &mut Random) {
        let (key, _) = key(one, other);
        let Some(link) = self.links.get_mut(&key) else { return };
        let mut notice = || Some(now + Duration::from_millis(random.between(0..=NOTICE_MS)));
        match link {
            SocietyLink::Up(_) => *link = SocietyLink::Down(now + time, [notice(), notice()]),
            SocietyLink::Down(until, _) => *until = (*until).max(now + time),
        }
    }

    /// Returns true if this end finds now that its link is broken.
    pub fn notices(&mut self, end: usize, other: usize, now: Time) -> bool {
        let (key, end) = key(end, other);
        match self.links.get_mut(&key) {
            Some(SocietyLink::Down(_, notices)) => notices[end].take_if(|at| *at <= now).is_some(),
            _ => false,
        }
    }

    /// Links two nodes, if nothing prevents it. Returns true if they were not linked.
    pub fn link(&mut self, one: usize, other: usize, now: Time) -> bool {
        let (key, _) = key(one, other);
        let stands = match self.links.get(&key) {
            None => false,
            Some(SocietyLink::Up(_)) => true,
            Some(SocietyLink::Down(until, notices)) => *until > now || notices.iter().any(Option::is_some),
        };
        if !stands {
            self.links.insert(key, SocietyLink::Up(Default::default()));
        }
        !stands
    }
}
