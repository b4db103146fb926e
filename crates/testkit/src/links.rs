//! Two ends of a link on a simulated wire, which can be cut, and which loses, doubles and garbles writes.

mod contest;

pub use contest::{Claimant, LinkContest};

use std::collections::VecDeque;
use std::time::Duration;

use whimbrel_acl::{AclMessage, Aid, Encoding, Envelope, MessageBody, Performative, Value};
use whimbrel_platform::Time;
use whimbrel_platform::link::{Link, LinkError, LinkEvent, LinkFrame, LinkItem, Speaker};

use crate::Random;

/// Time after which a connection that cannot be made fails.
const CONNECT_MS: u64 = 20;

/// End of a link, with the items that arrived there.
pub struct LinkEnd {
    /// State machine of the link.
    pub link: Link,
    /// Items that arrived, in order.
    pub arrived: Vec<LinkItem>,
    /// Messages that the link reported as lost.
    pub lost: Vec<Envelope>,
    /// Messages that the link could not send.
    pub unsendable: Vec<Envelope>,
    /// Number of sessions that began.
    pub began: usize,
    /// Number of sessions that were resumed.
    pub resumed: usize,
    /// Errors that ended connections.
    pub errors: Vec<LinkError>,
    /// True if arrived items are not handled at once.
    pub busy: bool,
    /// Bytes on their way to this end, each with the time of arrival.
    coming: VecDeque<(Time, Vec<u8>)>,
    buffer: Vec<u8>,
}

impl LinkEnd {
    fn new(link: Link) -> Self {
        Self {
            link,
            arrived: Vec::new(),
            lost: Vec::new(),
            unsendable: Vec::new(),
            began: 0,
            resumed: 0,
            errors: Vec::new(),
            busy: false,
            coming: VecDeque::new(),
            buffer: Vec::new(),
        }
    }

    /// Sends a message whose content is a number.
    pub fn send(&mut self, number: u64) {
        let message =
            AclMessage::new(Performative::Inform, Aid::local("a"), Aid::local("b"), Value::Int(number as i64));
        let envelope = Envelope { to: Aid::local("b"), body: MessageBody::Owned(Box::new(message)) };
        self.link.offer(&mut vec![LinkItem::Message(envelope)]);
    }

    /// Reads the bytes that have arrived. A fault is noted.
    fn read(&mut self, now: Time) -> Result<(), ()> {
        while self.coming.front().is_some_and(|(at, _)| *at <= now) {
            self.buffer.extend(self.coming.pop_front().into_iter().flat_map(|(_, bytes)| bytes));
        }
        self.take_frames(now).map_err(|error| self.errors.push(error))
    }

    /// Takes all frames of the buffer.
    fn take_frames(&mut self, now: Time) -> Result<(), LinkError> {
        while let Some(frame) = LinkFrame::first(&self.buffer)? {
            let taken = frame.bytes;
            self.link.handle_frame(now, &frame, &mut self.arrived)?;
            self.buffer.drain(..taken);
        }
        if !self.busy {
            self.link.handle_dealt_with();
        }
        Ok(())
    }

    fn disconnect(&mut self, now: Time) {
        self.coming.clear();
        self.buffer.clear();
        self.link.handle_disconnected(now);
    }

    /// Notes an event of the link.
    fn note(&mut self, event: LinkEvent) {
        match event {
            LinkEvent::Began => self.began += 1,
            LinkEvent::Resumed => self.resumed += 1,
            LinkEvent::Lost(lost) => self.lost.extend(lost),
            LinkEvent::Unsendable(messages) => self.unsendable.extend(messages),
            _ => {}
        }
    }

    /// Numbers in the messages that arrived.
    pub fn numbers(&self) -> Vec<u64> {
        numbers(self.arrived.iter().filter_map(|item| match item {
            LinkItem::Message(envelope) => Some(envelope),
            _ => None,
        }))
    }

    /// Numbers in the messages that were lost.
    pub fn lost_numbers(&self) -> Vec<u64> {
        numbers(self.lost.iter())
    }
}

fn numbers<'a>(envelopes: impl Iterator<Item = &'a Envelope>) -> Vec<u64> {
    let number = |envelope: &Envelope| match envelope.body.content {
        Value::Int(number) => number as u64,
        _ => u64::MAX,
    };
    envelopes.map(number).collect()
}

/// Replaces a text by another one of its length.
fn rename(bytes: &mut [u8], from: &str, to: &str) {
    for start in 0..bytes.len() {
        if let Some(text) = bytes.get_mut(start..start + from.len()).filter(|text| **text == *from.as_bytes()) {
            text.copy_from_slice(to.as_bytes());
        }
    }
}

/// Fault rates of a wire: each fault happens once in this many writes, 0 for never.
#[derive(Clone, Copy, Debug, Default)]
pub struct Faults {
    /// The connection breaks, with any part of the bytes on their way.
    pub cut: u64,
    /// A write is lost.
    pub drop: u64,
    /// A write arrives twice.
    pub double: u64,
    /// A bit of a write is flipped.
    pub garble: u64,
}

/// Both ends of a link, and the wire between them.
pub struct LinkPair {
    /// Connecting end, and accepting end.
    pub ends: [LinkEnd; 2],
    /// Simulated time.
    pub now: Time,
    /// Fault rates of the wire.
    pub faults: Faults,
    /// True if nothing can pass, and no connection can be made.
    pub severed: bool,
    /// Text that reaches the other end as another one of its length. Both ends are one process, so that otherwise no
    /// end sends a name that is new to the other.
    pub renamed: Option<(&'static str, &'static str)>,
    connected: bool,
    refused_at: Option<Time>,
    random: Random,
    absent: Option<Box<LinkEnd>>,
}

/// Returns the speaker of one end, for the process `incarnation`.
pub fn speaker(node: &str, incarnation: u64) -> Speaker {
    Speaker { platform: "p".into(), node: node.into(), incarnation, address: None, token: None }
}

impl LinkPair {
    /// Returns a pair on a wire without faults.
    pub fn new(seed: u64) -> Self {
        Self::writing(seed, Encoding::Compact)
    }

    /// Makes a pair whose first end writes messages in this encoding, and the second in the compact one.
    pub fn writing(seed: u64, encoding: Encoding) -> Self {
        let mut random = Random::new(seed);
        let mut end = |node: &str, encoding, dials| {
            let incarnation = random.next_u64();
            LinkEnd::new(Link::new(speaker(node, incarnation), encoding, dials, random.next_u64(), Time::ZERO))
        };
        let ends = [end("one", encoding, true), end("two", Encoding::Compact, false)];
        let (now, faults) = (Time::ZERO, Faults::default());
        let (severed, connected, refused_at, absent) = (false, false, None, None);
        Self { ends, now, faults, severed, renamed: None, connected, refused_at, random, absent }
    }

    /// Kills the process at this end, and starts another one in its place.
    pub fn restart(&mut self, end: usize) {
        self.disconnect();
        let (incarnation, seed) = (self.random.next_u64(), self.random.next_u64());
        let node = if end == 0 { "one" } else { "two" };
        let link = Link::new(speaker(node, incarnation), Encoding::Compact, end == 0, seed, self.now);
        if let Some(end) = self.ends.get_mut(end) {
            *end = LinkEnd::new(link);
        }
    }

    /// Replaces the process at this end by another one. The former process lives on without a connection, until the
    /// next call brings it back.
    pub fn exchange_process(&mut self, end: usize) {
        self.disconnect();
        let (incarnation, seed) = (self.random.next_u64(), self.random.next_u64());
        let node = if end == 0 { "one" } else { "two" };
        let now = self.now;
        let fresh = || LinkEnd::new(Link::new(speaker(node, incarnation), Encoding::Compact, end == 0, seed, now));
        let other = self.absent.take().unwrap_or_else(|| Box::new(fresh()));
        if let Some(end) = self.ends.get_mut(end) {
            self.absent = Some(Box::new(std::mem::replace(end, *other)));
        }
    }

    /// Lets time pass, in steps of a millisecond.
    pub fn run_for(&mut self, ms: u64) {
        for _ in 0..ms {
            self.now = self.now + Duration::from_millis(1);
            self.step();
        }
    }

    fn step(&mut self) {
        if self.refused_at.is_some_and(|at| at <= self.now) {
            self.refused_at = None;
            let [dialer, _] = &mut self.ends;
            dialer.link.handle_disconnected(self.now);
        }
        for index in 0..self.ends.len() {
            self.receive(index);
            self.transmit(index);
            self.events(index);
            let now = self.now;
            if let Some(end) = self.ends.get_mut(index)
                && end.link.poll_timeout() <= now
            {
                end.link.handle_timeout(now);
            }
        }
    }

    fn receive(&mut self, index: usize) {
        let now = self.now;
        let Some(end) = self.ends.get_mut(index) else { return };
        if !self.severed && end.read(now).is_err() {
            self.disconnect();
        }
    }

    fn transmit(&mut self, index: usize) {
        let (now, faults) = (self.now, self.faults);
        loop {
            let mut bytes = Vec::new();
            let Some(end) = self.ends.get_mut(index) else { return };
            if !self.connected || !end.link.poll_transmit(now, &mut bytes) {
                return;
            }
            if self.random.one_in(faults.drop) {
                continue;
            }
            let cut = self.random.one_in(faults.cut);
            if cut {
                bytes.truncate(self.random.between(0..=bytes.len() as u64) as usize);
            }
            if self.random.one_in(faults.garble) {
                let place = self.random.between(0..=bytes.len().saturating_sub(1) as u64) as usize;
                if let Some(byte) = bytes.get_mut(place) {
                    *byte ^= 1 << self.random.between(0..=7);
                }
            }
            self.renamed.iter().for_each(|(from, to)| rename(&mut bytes, from, to));
            let again = self.random.one_in(faults.double).then(|| bytes.clone());
            let at = now + Duration::from_millis(self.random.between(1..=5));
            if let Some(other) = self.ends.get_mut(1 - index) {
                let at = other.coming.back().map_or(at, |(last, _)| at.max(*last));
                other.coming.push_back((at, bytes));
                other.coming.extend(again.map(|bytes| (at, bytes)));
            }
            if cut {
                self.receive(1 - index);
                self.disconnect();
            }
        }
    }

    fn events(&mut self, index: usize) {
        while let Some(event) = self.ends.get_mut(index).and_then(|end| end.link.poll_event()) {
            match event {
                LinkEvent::Connect if self.severed => {
                    self.refused_at = Some(self.now + Duration::from_millis(CONNECT_MS));
                }
                LinkEvent::Connect => self.connect(),
                event => self.note(index, event),
            }
        }
    }

    fn note(&mut self, index: usize, event: LinkEvent) {
        let Some(end) = self.ends.get_mut(index) else { return };
        if let LinkEvent::Close(error) = event {
            end.errors.push(error);
            self.disconnect();
        } else {
            end.note(event);
        }
    }

    fn connect(&mut self) {
        self.disconnect();
        self.connected = true;
        let [dialer, accepter] = &mut self.ends;
        dialer.link.handle_connected(self.now);
        accepter.link.handle_accepted(self.now);
    }

    fn disconnect(&mut self) {
        if !std::mem::take(&mut self.connected) {
            return;
        }
        self.ends.iter_mut().for_each(|end| end.disconnect(self.now));
    }
}
