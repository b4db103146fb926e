//! Contest of several processes for one node name, at a host that links with one of them.

use std::collections::VecDeque;
use std::time::Duration;

use whimbrel_acl::Encoding;
use whimbrel_platform::Time;
use whimbrel_platform::link::{ClaimOutcome, FrameKind, Hello, Link, LinkError, LinkEvent, LinkFrame};

use super::{LinkEnd, speaker};
use crate::Random;

/// State of a process's connection to the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ClaimState {
    /// Nowhere.
    None,
    /// The host has not read the hello.
    Begun,
    /// The claim is undecided.
    Waits,
    /// The connection is the link's.
    Held,
}

/// A process of the contested name, which dials the host.
pub struct Claimant {
    /// End of the link in this process.
    pub end: LinkEnd,
    /// Reason of the host's refusal; the process does not come again.
    pub refused: Option<LinkError>,
    dead: bool,
    /// True while the process makes no step, its connection staying open.
    pub frozen: bool,
    line: ClaimState,
    to_host: VecDeque<(Time, Vec<u8>)>,
    /// Bytes that arrived at the host and were not read.
    at_host: Vec<u8>,
    /// The host closed the connection, and when that is noticed.
    closed_at: Option<Time>,
}

/// A host and its claimants.
pub struct LinkContest {
    /// The end that accepts.
    pub host: LinkEnd,
    /// Processes, in the order in which they began.
    pub claimants: Vec<Claimant>,
    /// The time.
    pub now: Time,
    random: Random,
}

impl LinkContest {
    /// Returns a host alone.
    pub fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let link =
            Link::new(speaker("host", random.next_u64()), Encoding::Compact, false, random.next_u64(), Time::ZERO);
        Self { host: LinkEnd::new(link), claimants: Vec::new(), now: Time::ZERO, random }
    }

    /// Starts one more process. Returns its number.
    pub fn begin(&mut self) -> usize {
        let (incarnation, seed) = (self.random.next_u64(), self.random.next_u64());
        let link = Link::new(speaker("twin", incarnation), Encoding::Compact, true, seed, self.now);
        self.claimants.push(Claimant {
            end: LinkEnd::new(link),
            refused: None,
            dead: false,
            frozen: false,
            line: ClaimState::None,
            to_host: VecDeque::new(),
            at_host: Vec::new(),
            closed_at: None,
        });
        self.claimants.len() - 1
    }

    /// Kills a process: its kernel closes its connection.
    pub fn kill(&mut self, number: usize) {
        self.cut(number);
        if let Some(claimant) = self.claimants.get_mut(number) {
            claimant.dead = true;
        }
    }

    /// Breaks the connection of a process; both ends notice.
    pub fn cut(&mut self, number: usize) {
        let Some(claimant) = self.claimants.get_mut(number) else { return };
        let line = std::mem::replace(&mut claimant.line, ClaimState::None);
        claimant.to_host.clear();
        claimant.at_host.clear();
        if line != ClaimState::None {
            claimant.end.disconnect(self.now);
        }
        if line == ClaimState::Held {
            self.host.link.handle_disconnected(self.now);
        }
    }

    /// Returns the process with which the host is linked.
    pub fn holder(&self) -> Option<usize> {
        self.claimants.iter().position(|claimant| claimant.line == ClaimState::Held).filter(|_| self.host.link.is_up())
    }

    /// Lets time pass, in steps of a millisecond.
    pub fn run_for(&mut self, ms: u64) {
        for _ in 0..ms {
            self.now = self.now + Duration::from_millis(1);
            for number in 0..self.claimants.len() {
                self.step_claimant(number);
                self.step_host(number);
            }
            if self.host.link.poll_timeout() <= self.now {
                self.host.link.handle_timeout(self.now);
            }
            self.host_events();
            self.host_transmits();
        }
    }

    fn delay(&mut self) -> Time {
        self.now + Duration::from_millis(self.random.between(1..=5))
    }

    fn step_claimant(&mut self, number: usize) {
        let (now, at) = (self.now, self.delay());
        let Some(claimant) = self.claimants.get_mut(number).filter(|one| !one.dead && !one.frozen) else { return };
        if claimant.end.read(now).is_err() || claimant.closed_at.is_some_and(|at| at <= now) {
            claimant.closed_at = None;
            claimant.refused = claimant.end.errors.iter().find(|error| error.is_refusal()).cloned();
            claimant.end.disconnect(now);
            return self.cut(number);
        }
        if claimant.end.link.poll_timeout() <= now {
            claimant.end.link.handle_timeout(now);
        }
        while let Some(event) = claimant.end.link.poll_event() {
            match event {
                LinkEvent::Connect if claimant.refused.is_none() => {
                    claimant.line = ClaimState::Begun;
                    claimant.end.link.handle_connected(now);
                }
                LinkEvent::Close(error) => {
                    claimant.end.errors.push(error);
                    return self.cut(number);
                }
                event => claimant.end.note(event),
            }
        }
        let mut bytes = Vec::new();
        while claimant.line != ClaimState::None && claimant.end.link.poll_transmit(now, &mut bytes) {
            let at = claimant.to_host.back().map_or(at, |(last, _)| at.max(*last));
            claimant.to_host.push_back((at, std::mem::take(&mut bytes)));
        }
    }

    /// Has the host read what arrived from this process.
    fn step_host(&mut self, number: usize) {
        let now = self.now;
        let Some(claimant) = self.claimants.get_mut(number) else { return };
        while claimant.to_host.front().is_some_and(|(at, _)| *at <= now) {
            claimant.at_host.extend(claimant.to_host.pop_front().into_iter().flat_map(|(_, bytes)| bytes));
        }
        match claimant.line {
            ClaimState::Begun => self.host_greets(number),
            ClaimState::Held => self.host_reads(number),
            ClaimState::None | ClaimState::Waits => {}
        }
    }

    fn host_greets(&mut self, number: usize) {
        let Some(claimant) = self.claimants.get_mut(number) else { return };
        let frame = LinkFrame::first(&claimant.at_host).ok().flatten().filter(|frame| frame.kind == FrameKind::Hello);
        let Some(hello) = frame.and_then(|frame| frame.parse::<Hello>().ok()) else { return };
        match self.host.link.handle_claim(self.now, &hello) {
            ClaimOutcome::Granted => self.grant(number),
            ClaimOutcome::Waits => {
                if let Some(other) = self.waiting() {
                    self.cut(other);
                }
                if let Some(claimant) = self.claimants.get_mut(number) {
                    claimant.line = ClaimState::Waits;
                }
            }
            ClaimOutcome::Crossed => self.cut(number),
        }
    }

    fn waiting(&self) -> Option<usize> {
        self.claimants.iter().position(|claimant| claimant.line == ClaimState::Waits)
    }

    /// Makes the connection of this process the link's.
    fn grant(&mut self, number: usize) {
        if let Some(holder) = self.claimants.iter().position(|claimant| claimant.line == ClaimState::Held) {
            self.close(holder, None);
        }
        self.host.link.handle_accepted(self.now);
        if let Some(claimant) = self.claimants.get_mut(number) {
            claimant.line = ClaimState::Held;
        }
        self.host_reads(number);
        self.host_transmits();
    }

    fn host_reads(&mut self, number: usize) {
        let now = self.now;
        let Some(claimant) = self.claimants.get_mut(number) else { return };
        self.host.buffer = std::mem::take(&mut claimant.at_host);
        let outcome = self.host.take_frames(now);
        claimant.at_host = std::mem::take(&mut self.host.buffer);
        if let Err(error) = outcome {
            self.host.errors.push(error);
            self.close(number, None);
        }
    }

    /// Closes the connection of this process at the host, after telling it why.
    fn close(&mut self, number: usize, why: Option<&LinkError>) {
        let at = self.delay();
        let Some(claimant) = self.claimants.get_mut(number) else { return };
        claimant.line = ClaimState::None;
        claimant.to_host.clear();
        claimant.at_host.clear();
        let at = claimant.end.coming.back().map_or(at, |(last, _)| at.max(*last));
        claimant.end.coming.extend(why.and_then(LinkError::refusal).map(|bytes| (at, bytes)));
        claimant.closed_at = Some(at);
    }

    fn host_events(&mut self) {
        while let Some(event) = self.host.link.poll_event() {
            match (event, self.waiting()) {
                (LinkEvent::ClaimGranted, Some(number)) => self.grant(number),
                (LinkEvent::ClaimGranted, None) => {
                    // The claimant has gone meanwhile, which the host notices when it takes that connection.
                    if let Some(holder) = self.claimants.iter().position(|claimant| claimant.line == ClaimState::Held) {
                        self.close(holder, None);
                    }
                    self.host.link.handle_accepted(self.now);
                    self.host.link.handle_disconnected(self.now);
                }
                (LinkEvent::ClaimRefused(why), Some(number)) => self.close(number, why.as_ref()),
                (LinkEvent::Close(error), _) => {
                    self.host.errors.push(error);
                    if let Some(holder) = self.claimants.iter().position(|claimant| claimant.line == ClaimState::Held) {
                        self.close(holder, None);
                    }
                }
                (event, _) => self.host.note(event),
            }
        }
    }

    fn host_transmits(&mut self) {
        let (now, at) = (self.now, self.delay());
        let Some(claimant) = self.claimants.iter_mut().find(|claimant| claimant.line == ClaimState::Held) else {
            return;
        };
        let mut bytes = Vec::new();
        while self.host.link.poll_transmit(now, &mut bytes) {
            let at = claimant.end.coming.back().map_or(at, |(last, _)| at.max(*last));
            claimant.end.coming.push_back((at, std::mem::take(&mut bytes)));
        }
    }
}
