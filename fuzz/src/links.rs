//! Properties of a link's frames and of a node's end of a link, for any bytes. The fuzz target looks for violations;
//! a test of `whimbrel-platform` replays those that were found.
#![allow(dead_code, reason = "the target uses one of these")]

use std::time::Duration;

use whimbrel_acl::{AclMessage, Aid, Encoding, Envelope, MessageBody, Performative, Value};
use whimbrel_platform::Time;
use whimbrel_platform::ams::AgentKind;
use whimbrel_platform::df::DfDescription;
use whimbrel_platform::link::{
    Ack, Bye, FrameContent, FrameKind, Hello, LINK_VERSION, Link, LinkError, LinkEvent, LinkFrame, LinkItem, News,
    PeerAddress, Ping, Refuse, Speaker, Train, read_items, reader, write_frame,
};

/// First bytes of a piece, which give its kind: a frame of the peer, a batch with the number that is due in its first
/// two bytes, or an event of the link.
const BATCH_IN_TURN: u8 = 0x80;
const OFFER: u8 = 0x81;
const TIME: u8 = 0x82;
const RECONNECT: u8 = 0x83;
const RAW: u8 = 0x84;

/// Pieces, each after two bytes of length. The first byte of all says how the link writes.
pub fn link_frames(bytes: &[u8]) {
    let Some((&encoding, mut rest)) = bytes.split_first() else { return };
    let encoding = Encoding::ALL[usize::from(encoding) % Encoding::ALL.len()];
    let mut end = FuzzedEnd::new(encoding);
    while let Some((length, more)) = rest.split_first_chunk::<2>() {
        let (piece, more) = more.split_at(usize::from(u16::from_be_bytes(*length)).min(more.len()));
        rest = more;
        let Some((&kind, content)) = piece.split_first() else { continue };
        match kind {
            OFFER => end.offer(content),
            TIME => end.pass(content),
            RECONNECT => end.reconnect(),
            RAW => end.take_raw(content),
            BATCH_IN_TURN => end.take_in_turn(content),
            _ => end.take(kind, content),
        }
        end.go_on();
    }
    end.finish();
}

/// Node's end of a link, and the accounts of the items that were put on it.
struct FuzzedEnd {
    link: Link,
    now: Time,
    connected: bool,
    /// Number of items that came since the session began, modulo 65,536.
    came: u16,
    offered: usize,
    accounted: usize,
    items: Vec<LinkItem>,
}

impl FuzzedEnd {
    fn new(encoding: Encoding) -> Self {
        let me = Speaker { platform: "p".into(), node: "n1".into(), incarnation: 7, address: None, token: None };
        let mut link = Link::new(me, encoding, false, 1, Time::ZERO);
        link.handle_connected(Time::ZERO);
        Self { link, now: Time::ZERO, connected: true, came: 0, offered: 0, accounted: 0, items: Vec::new() }
    }

    fn take(&mut self, kind: u8, content: &[u8]) {
        let mut frame = Vec::new();
        let mut length = content.len() as u64 + 1;
        while length >= 0x80 {
            frame.push(length as u8 | 0x80);
            length >>= 7;
        }
        frame.extend([length as u8, kind]);
        frame.extend(content);
        self.take_raw(&frame);
    }

    fn take_in_turn(&mut self, content: &[u8]) {
        let mut batch = self.came.to_le_bytes().to_vec();
        batch.extend(content);
        self.take(FrameKind::Batch as u8, &batch);
    }

    /// Takes all frames in these bytes.
    fn take_raw(&mut self, mut bytes: &[u8]) {
        while let Ok(Some(frame)) = LinkFrame::first(bytes) {
            assert!(frame.bytes <= bytes.len() && frame.content.len() < frame.bytes);
            read_and_written(&frame);
            if !self.connected {
                return;
            }
            let before = self.items.len();
            let outcome = self.link.handle_frame(self.now, &frame, &mut self.items);
            self.came = self.came.wrapping_add((self.items.len() - before) as u16);
            self.connected = outcome.is_ok();
            assert!(self.connected || !self.link.is_up(), "a fault ends the connection");
            if let Err(error) = outcome {
                told(&error);
            }
            bytes = &bytes[frame.bytes..];
        }
    }

    fn offer(&mut self, content: &[u8]) {
        let text = String::from_utf8_lossy(content);
        let message = AclMessage::new(Performative::Inform, Aid::local("b"), Aid::local("a"), Value::from(&*text));
        let envelope = Envelope { to: Aid::local("b"), body: MessageBody::Owned(Box::new(message)) };
        self.link.offer(&mut vec![LinkItem::Message(envelope)]);
        self.offered += 1;
    }

    fn pass(&mut self, content: &[u8]) {
        let ms = content.iter().take(2).fold(0, |ms, byte| ms << 8 | u64::from(*byte));
        self.now = self.now + Duration::from_millis(ms);
    }

    fn reconnect(&mut self) {
        self.link.handle_disconnected(self.now);
        self.link.handle_connected(self.now);
        self.connected = true;
    }

    /// Acts as the I/O layer does after each input.
    fn go_on(&mut self) {
        if self.link.poll_timeout() <= self.now {
            self.link.handle_timeout(self.now);
        }
        self.take_events();
        self.echo();
        self.link.handle_dealt_with();
        let mut out = Vec::new();
        while self.connected && self.link.poll_transmit(self.now, &mut out) {}
        let mut rest = out.as_slice();
        while let Some(frame) = LinkFrame::first(rest).expect("what is written are frames") {
            rest = &rest[frame.bytes..];
        }
        assert!(rest.is_empty(), "whole frames");
        self.take_events();
        self.accounted += self.link.take_released();
        assert!(self.link.unsent() <= self.link.waiting());
    }

    fn take_events(&mut self) {
        while let Some(event) = self.link.poll_event() {
            match event {
                LinkEvent::Began => self.came = 0,
                LinkEvent::Lost(messages) | LinkEvent::Unsendable(messages) => self.accounted += messages.len(),
                LinkEvent::Close(error) => {
                    told(&error);
                    self.connected = false;
                }
                _ => {}
            }
        }
    }

    /// Sends the received items on unchanged, over the same kind of link.
    fn echo(&mut self) {
        if self.items.is_empty() {
            return;
        }
        let items = std::mem::take(&mut self.items);
        let said: Vec<String> = items.iter().map(say).collect();
        let speaker = |node: &str, incarnation| Speaker {
            platform: "p".into(),
            node: node.into(),
            incarnation,
            address: None,
            token: None,
        };
        let mut from = Link::new(speaker("n1", 1), Encoding::Compact, true, 1, Time::ZERO);
        let mut to = Link::new(speaker("n2", 2), Encoding::Compact, false, 2, Time::ZERO);
        from.handle_connected(Time::ZERO);
        to.handle_accepted(Time::ZERO);
        from.offer(&mut items.clone());
        let (mut heard, mut bytes, mut unsendable) = (Vec::new(), Vec::new(), 0);
        for _ in 0..=items.len() + 1 {
            while from.poll_transmit(Time::ZERO, &mut bytes) {}
            feed(&mut to, &mut bytes, &mut heard);
            to.handle_dealt_with();
            while to.poll_transmit(Time::ZERO, &mut bytes) {}
            feed(&mut from, &mut bytes, &mut Vec::new());
        }
        while let Some(event) = from.poll_event() {
            if let LinkEvent::Unsendable(messages) = event {
                unsendable += messages.len();
            }
        }
        let heard: Vec<String> = heard.iter().map(say).collect();
        if unsendable == 0 {
            assert_eq!(heard, said);
        }
    }

    /// Nothing that was offered is gone.
    fn finish(mut self) {
        self.take_events();
        self.accounted += self.link.take_released() + self.link.abandon().len();
        assert_eq!(self.accounted, self.offered);
    }
}

fn feed(link: &mut Link, bytes: &mut Vec<u8>, items: &mut Vec<LinkItem>) {
    let all = std::mem::take(bytes);
    let mut rest = all.as_slice();
    while let Some(frame) = LinkFrame::first(rest).expect("what is written are frames") {
        link.handle_frame(Time::ZERO, &frame, items).expect("what is written can be read");
        rest = &rest[frame.bytes..];
    }
}

fn say(item: &LinkItem) -> String {
    match item {
        LinkItem::Message(envelope) => format!("{} {:?}", envelope.to, *envelope.body),
        other => format!("{other:?}"),
    }
}

/// Each fault has a reason to be counted by, and a text.
fn told(error: &LinkError) {
    assert!(!error.reason().is_empty() && !error.to_string().is_empty());
}

/// Checks that a decoded frame is the same after another round. The items of a batch may be invalid.
fn read_and_written(frame: &LinkFrame<'_>) {
    match frame.kind {
        FrameKind::Hello => comes_back::<Hello>(frame),
        FrameKind::Ack => comes_back::<Ack>(frame),
        FrameKind::Ping => comes_back::<Ping>(frame),
        FrameKind::Bye => comes_back::<Bye>(frame),
        FrameKind::Refuse => comes_back::<Refuse>(frame),
        FrameKind::Train => comes_back::<Train>(frame),
        FrameKind::Batch => {
            let Some((_, content)) = frame.content.split_first_chunk::<2>() else { return };
            for encoding in [Encoding::Compact, Encoding::Json, Encoding::String] {
                let mut items = Vec::new();
                let read = read_items(content, &mut *reader(encoding), &mut items);
                assert!(read.is_err() || read == Ok(items.len()));
                assert!(items.len() <= content.len(), "each takes a byte at least");
            }
        }
    }
}

fn comes_back<T: FrameContent + PartialEq + std::fmt::Debug>(frame: &LinkFrame<'_>) {
    let Ok(content) = frame.parse::<T>() else { return };
    let mut written = Vec::new();
    write_frame(&content, &mut written);
    let again = LinkFrame::first(&written).expect("a frame").expect("all of it");
    assert_eq!(again.parse::<T>().expect("what is written can be read"), content);
}

/// Seeds: conversations.
pub fn seeds() -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for encoding in [Encoding::Compact, Encoding::Json] {
        for news in [false, true] {
            all.push(conversation(encoding, news));
        }
    }
    all
}

fn conversation(encoding: Encoding, news: bool) -> Vec<u8> {
    let me = Speaker {
        platform: "p".into(),
        node: "n2".into(),
        incarnation: 9,
        address: Some("127.0.0.1:1".into()),
        token: Some("t".into()),
    };
    let mut peer = Link::new(me, encoding, true, 1, Time::ZERO);
    peer.handle_connected(Time::ZERO);
    let (mut out, mut seed) = (Vec::new(), vec![0]);
    peer.poll_transmit(Time::ZERO, &mut out);
    let answer = Hello {
        version: LINK_VERSION,
        platform: "p".into(),
        node: "n1".into(),
        incarnation: 7,
        heard: None,
        credit: 1 << 20,
        address: None,
        token: Some("t".into()),
        encoding: "compact".into(),
        unreadable: None,
        to: None,
    };
    let mut hello = Vec::new();
    write_frame(&answer, &mut hello);
    let hello = LinkFrame::first(&hello).expect("a frame").expect("all of it");
    peer.handle_frame(Time::ZERO, &hello, &mut Vec::new()).expect("a hello");
    peer.offer(&mut if news { all_news() } else { messages() });
    peer.poll_transmit(Time::ZERO, &mut out);
    write_frame(&Ack { received: 0, credit: 1 << 21 }, &mut out);
    let mut rest = out.as_slice();
    while let Ok(Some(frame)) = LinkFrame::first(rest) {
        if frame.kind == FrameKind::Batch {
            piece(BATCH_IN_TURN, frame.content.get(2..).unwrap_or_default(), &mut seed);
        } else {
            piece(frame.kind as u8, frame.content, &mut seed);
        }
        rest = &rest[frame.bytes..];
        piece(OFFER, b"hello", &mut seed);
    }
    piece(TIME, &[4, 0], &mut seed);
    let mut ping = Vec::new();
    write_frame(&Ping { ack: Ack { received: 1, credit: 1 << 21 }, next: 3, question: 5, answer: 0 }, &mut ping);
    piece(RAW, &ping, &mut seed);
    piece(RECONNECT, &[], &mut seed);
    let mut bye = Vec::new();
    write_frame(&Bye(1), &mut bye);
    write_frame(&Refuse("no".into()), &mut bye);
    piece(RAW, &bye, &mut seed);
    seed
}

fn piece(kind: u8, content: &[u8], seed: &mut Vec<u8>) {
    seed.extend((content.len() as u16 + 1).to_be_bytes());
    seed.push(kind);
    seed.extend(content);
}

fn messages() -> Vec<LinkItem> {
    let content =
        Value::term("at", [Value::Int(7), Value::from("a text"), Value::list([Value::Num(0.5), Value::Null])]);
    let mut message = AclMessage::new(Performative::Inform, Aid::local("bob"), Aid::new("amy", "home"), content)
        .in_conversation("c1")
        .with_protocol("fipa-request");
    let one = Envelope { to: Aid::local("bob"), body: MessageBody::Owned(Box::new(message.clone())) };
    let other = Envelope { to: Aid::new("eve", "there"), body: MessageBody::Owned(Box::new(message.clone())) };
    let mut items = vec![LinkItem::Message(one), LinkItem::Message(other), LinkItem::Tombstone];
    message.receivers = ["a", "b", "c"].map(Aid::local).into_iter().collect();
    Envelope::for_each_receiver(Box::new(message), |envelope| items.push(LinkItem::Message(envelope)));
    items.remove(4);
    items
}

fn all_news() -> Vec<LinkItem> {
    let mut description = DfDescription::offering("s", "t");
    description.agent = Some(Aid::local("bob"));
    [
        News::Agents(vec![("bob".into(), AgentKind::AgentSpeak), ("eve".into(), AgentKind::Native)]),
        News::Service(Box::new(description)),
        News::NoService("bob".into()),
        News::Crowded("bob".into(), true),
        News::Kill("bob".into()),
        News::Stop { delay_ms: 7, code: -3 },
        News::Members(vec![PeerAddress { node: "n3".into(), address: "127.0.0.1:2".into() }]),
        News::Topics(vec!["topic:weather".into()]),
        News::Joined("group:workers".into(), vec!["bob".into()]),
        News::Left("group:workers".into(), "bob".into()),
        News::AgentEnded("bob".into(), whimbrel_platform::EndReason::Failed("why not".into())),
    ]
    .map(|news| LinkItem::News(Box::new(news)))
    .into()
}
