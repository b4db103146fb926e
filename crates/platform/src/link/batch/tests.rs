//! Batches, written and read again.

use whimbrel_acl::{Encoding, Performative, compact};

use super::super::LINK_VERSION;
use super::super::codec::{reader, writer};
use std::collections::VecDeque;
use std::sync::Arc;

use whimbrel_acl::{AclMessage, Aid, Envelope, MessageBody, Numbered, Symbol, Value};

use super::super::wire::{begin_sized, end_sized, write_number};
use super::super::{LinkItem, NameConflict, News, PeerAddress};
use super::write::receiver;
use super::*;
use crate::EndReason;
use crate::advice::{AdviceNews, NodeCondition};
use crate::ams::{AgentKind, AgentState};
use crate::df::ServiceDescription;
use crate::durable::{Facts, Origin, Receipt, Registration};
use crate::limits::{HOP_NUMBER_BITS, LINK_MESSAGE_BYTES_MAX, LINK_RECEIVERS_MAX};
use crate::mobility::{HopError, HopId, HopNews, HopOffer, Part, Whence};

fn message(receivers: &[&str]) -> Box<AclMessage> {
    let mut message = AclMessage::new(Performative::Inform, Aid::local("amy"), Aid::local("bob"), Value::from("hello"));
    message.receivers = receivers.iter().map(|name| Aid::local(*name)).collect();
    Box::new(message)
}

fn there_and_back(items: Vec<LinkItem>) -> (usize, Vec<LinkItem>) {
    let (items, mut bytes, mut back) = (VecDeque::from(items), Vec::new(), Vec::new());
    let written = BatchWriter::new(writer(Encoding::Compact)).write(&items, 0, usize::MAX / 2, &mut bytes);
    assert_eq!((written.items, written.refused.len()), (items.len(), 0));
    assert_eq!(read_items(&bytes, &mut *reader(Encoding::Compact), &mut back), Ok(items.len()));
    (bytes.len(), back)
}

fn names(items: &[LinkItem]) -> Vec<String> {
    items.iter().filter_map(receiver).map(|aid| aid.to_string()).collect()
}

#[test]
fn shared_message_is_written_once() {
    let mut items = Vec::new();
    Envelope::for_each_receiver(message(&["a", "b", "c", "d"]), |envelope| items.push(LinkItem::Message(envelope)));
    let (all_bytes, back) = there_and_back(items.clone());
    assert_eq!(names(&back), ["a", "b", "c", "d"]);
    let some = vec![items.swap_remove(1), items.swap_remove(1)];
    let (some_bytes, back) = there_and_back(some);
    assert_eq!(names(&back), ["b", "d"]);
    assert!(some_bytes <= all_bytes + 3, "{some_bytes} {all_bytes}");
}

#[test]
fn foreign_receiver_is_named() {
    let envelope = Envelope { to: Aid::new("eve", "there"), body: MessageBody::Owned(message(&["bob"])) };
    let (_, back) = there_and_back(vec![LinkItem::Message(envelope)]);
    assert_eq!(names(&back), ["eve@there"]);
}

/// Returns messages of these senders to these receivers, each with its index as its content.
fn row(pairs: &[(&str, &str)]) -> Vec<LinkItem> {
    let item = |(number, (from, to)): (usize, &(&str, &str))| {
        let (from, to) = (Aid::local(*from), Aid::local(*to));
        let message = AclMessage::new(Performative::Inform, from, to, Value::Int(number as i64));
        LinkItem::Message(Envelope { to, body: MessageBody::Owned(Box::new(message)) })
    };
    pairs.iter().enumerate().map(item).collect()
}

fn messages(items: &[LinkItem]) -> Vec<AclMessage> {
    items.iter().cloned().filter_map(LinkItem::into_message).map(|envelope| *envelope.body.into_message()).collect()
}

#[test]
fn alike_messages_share_their_head() {
    let (bytes, back) = there_and_back(row(&[("amy", "bob"); 100]));
    assert_eq!(messages(&back), messages(&row(&[("amy", "bob"); 100])));
    let (one, _) = there_and_back(row(&[("amy", "bob")]));
    assert!(bytes <= one + 99 * 4, "{bytes} of which the first takes {one}");
}

#[test]
fn differing_messages_are_written_whole() {
    let mut items = row(&[("amy", "bob"), ("amy", "bob"), ("amy", "eve"), ("bob", "eve"), ("bob", "eve")]);
    let change = |item: &mut LinkItem, change: &dyn Fn(&mut AclMessage)| {
        if let LinkItem::Message(Envelope { body: MessageBody::Owned(message), .. }) = item {
            change(message);
        }
    };
    items.extend(row(&[("bob", "eve"); 6]));
    change(&mut items[5], &|message| message.performative = Performative::Request);
    change(&mut items[6], &|message| message.extras_mut().reply_with = Some("q".into()));
    change(&mut items[8], &|message| message.content = Value::from("x".repeat(300)));
    change(&mut items[9], &|message| message.content = Value::list((0..9).map(|n| Value::from(format!("text{n}")))));
    change(&mut items[10], &|message| message.receivers.push(Aid::local("bob")));
    items.extend([LinkItem::Tombstone, LinkItem::News(Box::new(News::NoService("bob".into())))]);
    items.extend(row(&[("bob", "eve"), ("bob", "eve")]));
    let (_, back) = there_and_back(items.clone());
    assert_eq!(messages(&back), messages(&items));
    let kinds = |items: &[LinkItem]| items.iter().map(std::mem::discriminant).collect::<Vec<_>>();
    assert_eq!((kinds(&back), names(&back)), (kinds(&items), names(&items)));
}

#[test]
fn alike_needs_plain_predecessor() {
    let alike = [TAG_ALIKE as u8, 1, 0];
    let (mut reader, mut items) = (reader(Encoding::Compact), row(&[("amy", "bob")]));
    assert_eq!(read_items(&alike, &mut *reader, &mut items), Err(BatchError::Receivers), "of an earlier batch");
    let void = [TAG_VOID as u8, TAG_ALIKE as u8, 1, 0];
    assert_eq!(read_items(&void, &mut *reader, &mut items), Err(BatchError::Receivers));
    for encoding in [Encoding::Json, Encoding::String] {
        let (items, mut bytes, mut back) = (VecDeque::from(row(&[("amy", "bob"); 3])), Vec::new(), Vec::new());
        BatchWriter::new(writer(encoding)).write(&items, 0, usize::MAX / 2, &mut bytes);
        assert_eq!(read_items(&bytes, &mut *super::super::codec::reader(encoding), &mut back), Ok(3));
        bytes.extend(alike);
        let read = read_items(&bytes, &mut *super::super::codec::reader(encoding), &mut back);
        assert!(matches!(read, Err(BatchError::Message(_))), "{read:?}");
    }
}

#[test]
fn news_and_messages_keep_their_order() {
    let news = News::AgentEnded("bob".into(), EndReason::Failed("why not".into()));
    let mut items = vec![LinkItem::News(Box::new(news.clone()))];
    Envelope::for_each_receiver(message(&["bob"]), |envelope| items.push(LinkItem::Message(envelope)));
    let (_, back) = there_and_back(items);
    assert!(matches!(back.as_slice(), [LinkItem::News(first), LinkItem::Message(_)] if **first == news));
}

#[test]
fn repeated_news_are_short() {
    let ready =
        |number| LinkItem::News(Box::new(News::Hop(HopNews::Ready(HopId { agent: "retriever".into(), number }))));
    let bytes = |count| there_and_back((0..count).map(|_| ready(1 << (HOP_NUMBER_BITS - 1))).collect()).0;
    let (first, both) = (bytes(1), bytes(2));
    assert!(both - first < first * 2 / 3, "{first} {both}");
}

/// Returns the news of an agent's move to another node and back, with an empty state, in the form of later moves.
#[test]
fn hop_news_are_short() {
    let offer = HopOffer {
        hop: HopId { agent: "retriever".into(), number: 0 },
        kind: AgentKind::Wasm,
        owner: Symbol::default(),
        root: "mover".into(),
        origin: Whence(Origin::Module { path: "guest/examples/retriever-rust.wasm".to_owned(), hash: [0xa5; 32] }),
        state: Vec::new(),
        of: 0,
        unpacked: 0,
        clone: None,
        home: "c1".into(),
        lifetime_ms: None,
        age_ms: 3_600_000,
        handled: 1_000,
        recalled: false,
        onward: Symbol::default(),
    };
    let said = |round: u64| {
        let hop = HopId { agent: "retriever".into(), number: (1 << (HOP_NUMBER_BITS - 1)) + round };
        let commit = HopNews::Commit { hop, standing: None, told: Vec::new() };
        let offer = HopNews::Offer(Box::new(HopOffer { hop, ..offer.clone() }));
        [offer, commit, HopNews::Followed(hop, "c1".into()), HopNews::Ready(hop)]
    };
    let (mut batches, mut sizes) = (BatchWriter::new(writer(Encoding::Compact)), Vec::new());
    for round in 0..3 {
        sizes.clear();
        for news in said(round) {
            let mut bytes = Vec::new();
            batches.write(&VecDeque::from([LinkItem::News(Box::new(News::Hop(news)))]), 0, usize::MAX / 2, &mut bytes);
            sizes.push(bytes.len());
        }
    }
    assert!(sizes.iter().sum::<usize>() <= 104, "{sizes:?}");
}

#[test]
fn unencodable_message_leaves_placeholder() {
    let deep = (0..500).fold(Value::Nil, |inner, _| Value::list([inner]));
    let mut message = message(&["bob"]);
    message.content = deep;
    let envelope = Envelope { to: Aid::local("bob"), body: MessageBody::Owned(message) };
    let good = Envelope { to: Aid::local("bob"), body: MessageBody::Owned(super::tests::message(&["bob"])) };
    let items = VecDeque::from([LinkItem::Message(good.clone()), LinkItem::Message(envelope), LinkItem::Message(good)]);
    let (mut bytes, mut back) = (Vec::new(), Vec::new());
    let written = BatchWriter::new(writer(Encoding::Compact)).write(&items, 0, usize::MAX / 2, &mut bytes);
    assert_eq!((written.items, written.refused), (3, vec![1]));
    assert_eq!(read_items(&bytes, &mut *reader(Encoding::Compact), &mut back), Ok(3));
    assert!(matches!(back.as_slice(), [LinkItem::Message(_), LinkItem::Tombstone, LinkItem::Message(_)]));
}

#[test]
fn forwarded_message_stays_marked() {
    let numbered =
        Numbered { number: 7, after: 5, replay_round: 9, bulk: 0, message: Arc::from(message(&["bob", "eve"])) };
    let shared = MessageBody::Shared(Arc::from(message(&["bob", "eve"])));
    let bodies = [MessageBody::Owned(message(&["bob"])), shared, MessageBody::Numbered(Box::new(numbered))];
    let items = bodies.map(|body| LinkItem::Forwarded(Envelope { to: Aid::local("bob"), body }));
    let (_, back) = there_and_back(items.to_vec());
    assert!(
        back.iter().all(|item| matches!(item, LinkItem::Forwarded(envelope) if envelope.to.name.as_str() == "bob"))
    );
    assert_eq!(back.len(), 3);
    let two = [TAG_FORWARDED as u8, TAG_NEWS as u8];
    assert!(read_items(&two, &mut *reader(Encoding::Compact), &mut Vec::new()).is_err());
}

#[test]
fn numbered_message_keeps_number() {
    let numbered = |number: u64| {
        let message = Arc::from(message(&["bob", "eve"]));
        let body = MessageBody::Numbered(Box::new(Numbered {
            number,
            after: number / 2,
            replay_round: number + 1,
            bulk: 0,
            message,
        }));
        LinkItem::Message(Envelope { to: Aid::local("eve"), body })
    };
    let plain = LinkItem::Message(Envelope { to: Aid::local("bob"), body: MessageBody::Owned(message(&["bob"])) });
    let (_, back) = there_and_back(vec![numbered(1), plain, numbered(u64::MAX / 2)]);
    let number = |item: &LinkItem| match item {
        LinkItem::Message(Envelope { body: MessageBody::Numbered(numbered), .. }) => {
            assert_eq!((numbered.replay_round, numbered.after), (numbered.number + 1, numbered.number / 2));
            Some(numbered.number)
        }
        _ => None,
    };
    assert_eq!(back.iter().map(number).collect::<Vec<_>>(), [Some(1), None, Some(u64::MAX / 2)]);
    assert_eq!(names(&back), ["eve", "bob", "eve"]);
}

/// News of every kind.
fn all_news() -> Vec<News> {
    let mut description = crate::df::DfDescription::offering("s", "t");
    description.agent = Some(Aid::local("bob"));
    let receipt = Receipt { sender: "bob".into(), number: 5, by: "eve".into() };
    let member = PeerAddress { node: "n2".into(), address: "127.0.0.1:1".into() };
    let others = [
        News::Agents(vec![("bob".into(), AgentKind::AgentSpeak), ("eve".into(), AgentKind::Native)]),
        News::AgentEnded("bob".into(), EndReason::Killed),
        News::MoreServices { agent: "bob".into(), after: 1, services: vec![ServiceDescription::new("u", "t")] },
        News::AgentEnded("tab".into(), EndReason::LeaseOver { lease_ms: 10_000 }),
        News::Service(Box::new(description)),
        News::NoService("bob".into()),
        News::Crowded("bob".into(), true),
        News::Kill("bob".into()),
        News::Stop { delay_ms: 7, code: -3 },
        News::Members(vec![member]),
        News::Serves { partitions: vec![(3, 7)], agents: vec![("bob".into(), AgentKind::AgentSpeak)], more: true },
        News::Again { partitions: vec![(3, 7)], replay_round: 9 },
        News::Facts(Facts { handled: vec![receipt], known: vec![receipt] }),
        News::Yields { partitions: vec![3, 5], agents: vec!["bob".into()] },
        News::Introduced,
        News::Asks(vec!["amy".into(), "bob".into()]),
        News::Has { agents: vec![("amy".into(), AgentKind::Native)], not: vec!["bob".into()] },
        News::Topics(vec!["topic:t".into()]),
        News::NoTopic("topic:t".into()),
        News::Joined("group:g".into(), vec!["bob".into()]),
        News::Left("group:g".into(), "bob".into()),
        News::Ask { number: 8, question: b"how many".to_vec() },
        News::Answer { number: 8, answer: b"seven".to_vec() },
        News::NameConflict(NameConflict::Asks("bob".into(), 7)),
        News::NameConflict(NameConflict::Has { agent: "bob".into(), asked: 7, life: 9, age_ms: 11 }),
        News::NameConflict(NameConflict::Ends("bob".into(), 9)),
        News::Advice(AdviceNews::Ask { number: 7, code: Some(Origin::Type("t".to_owned())) }),
        News::Advice(AdviceNews::Tell {
            number: 7,
            condition: NodeCondition { cores: Some(2), ..NodeCondition::default() },
        }),
    ];
    others.into_iter().chain(hop_news().into_iter().map(News::Hop)).collect()
}

fn hop_news() -> Vec<HopNews> {
    let hop = HopId { agent: "bob".into(), number: 7 };
    let (kind, origin) = (AgentKind::Wasm, Origin::Module { path: "a.wasm".to_owned(), hash: [7; 32] });
    let offer = HopOffer {
        hop,
        kind,
        owner: "boss".into(),
        root: "founder".into(),
        origin: Whence(origin),
        state: vec![1, 2],
        of: 2,
        unpacked: 0,
        clone: None,
        home: "n1".into(),
        lifetime_ms: Some(5),
        age_ms: 3_600_000,
        handled: 1_000,
        recalled: false,
        onward: "tab".into(),
    };
    let standing = Registration {
        agent: "bob".into(),
        last: 0,
        entry: None,
        expires_ms: None,
        subscriptions: Vec::new(),
        places: vec!["group:g".into()],
        state: AgentState::Active,
    };
    vec![
        HopNews::Followed(hop, "n2".into()),
        HopNews::Lacks { hop, at: 3 },
        HopNews::Code(hop, Part { at: 3, of: 5, bytes: vec![7, 0] }),
        HopNews::More { hop, at: 3 },
        HopNews::State(hop, Part { at: 3, of: 5, bytes: vec![7, 0] }),
        HopNews::Offer(Box::new(offer)),
        HopNews::Ready(hop),
        HopNews::Cloned(hop, "amy".into()),
        HopNews::Refuse(hop, HopError::Stopping),
        HopNews::Cancel(hop),
        HopNews::Commit { hop, standing: Some(Box::new(standing)), told: vec!["n3".into()] },
        HopNews::Recall("bob".into(), 7),
        HopNews::Recalled(7, None),
        HopNews::Departed(hop, "n2".into()),
        HopNews::Follow(hop),
        HopNews::Roams(hop, "n2".into(), vec!["topic:news".into()]),
        HopNews::Clear(hop, vec!["topic:news".into()]),
        HopNews::Settled(hop),
    ]
}

/// A change of what nodes tell each other increments [`LINK_VERSION`], unless that was done since the last release,
/// and updates the fingerprint here.
#[test]
fn link_version_matches_fingerprint() {
    let mut bytes = Vec::new();
    all_news().iter().for_each(|news| compact::encode_body_of(news, &mut bytes).unwrap());
    // FNV-1a.
    let print = bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3));
    assert_eq!((LINK_VERSION, print), (3, 5_710_761_252_287_112_124));
}

#[test]
fn all_news_round_trip() {
    let all = all_news();
    let (_, back) = there_and_back(all.iter().map(|news| LinkItem::News(Box::new(news.clone()))).collect());
    let news: Vec<News> =
        back.into_iter().filter_map(|item| if let LinkItem::News(news) = item { Some(*news) } else { None }).collect();
    assert_eq!(news, all);
}

#[test]
fn overlong_message_leaves_others_intact() {
    let said = |text: &str, content: Value| {
        let mut message = message(&["bob"]);
        message.content = content;
        message.extras_mut().protocol = Some(text.into());
        LinkItem::Message(Envelope { to: Aid::local("bob"), body: MessageBody::Owned(message) })
    };
    let long = Value::from("x".repeat(LINK_MESSAGE_BYTES_MAX));
    let items = VecDeque::from([
        said("one", Value::from(1)),
        said("two", long),
        said("two", Value::from(2)),
        said("one", Value::from(3)),
    ]);
    let (mut bytes, mut back) = (Vec::new(), Vec::new());
    let mut batches = BatchWriter::new(writer(Encoding::Compact));
    let written = batches.write(&items, 0, usize::MAX / 2, &mut bytes);
    assert_eq!((written.items, written.refused), (4, vec![1]));
    assert_eq!(read_items(&bytes, &mut *reader(Encoding::Compact), &mut back), Ok(4));
    let protocols: Vec<_> = back
        .iter()
        .map(|item| match item {
            LinkItem::Message(envelope) => envelope.body.extras().protocol.map(|name| name.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(protocols, [Some("one"), None, Some("two"), Some("one")]);
}

#[test]
fn overlong_alike_content_is_forgotten() {
    let texts = || (0..40).map(|number| Value::from(format!("{number:01000}")));
    let bytes = Value::from(vec![7_u8; LINK_MESSAGE_BYTES_MAX - 20_000]);
    let long = Value::list(texts().chain([bytes]).collect::<Vec<_>>());
    let items: VecDeque<LinkItem> = [Value::from(1), long, Value::list(texts()), Value::from(2)]
        .map(|content| {
            let message = AclMessage::new(Performative::Inform, Aid::local("amy"), Aid::local("bob"), content);
            LinkItem::Message(Envelope { to: Aid::local("bob"), body: MessageBody::Owned(Box::new(message)) })
        })
        .into();
    let (mut bytes, mut back) = (Vec::new(), Vec::new());
    let mut batches = BatchWriter::new(writer(Encoding::Compact));
    let written = batches.write(&items, 0, usize::MAX / 2, &mut bytes);
    assert_eq!((written.items, written.refused), (4, vec![1]));
    assert_eq!(read_items(&bytes, &mut *reader(Encoding::Compact), &mut back), Ok(4));
    let content = |item: &LinkItem| match item {
        LinkItem::Message(envelope) => Some(envelope.body.content.clone()),
        _ => None,
    };
    let sent = [content(&items[0]), None, content(&items[2]), content(&items[3])];
    assert_eq!(back.iter().map(content).collect::<Vec<_>>(), sent);
}

#[test]
fn batch_items_are_bounded() {
    let read = |count: usize| {
        let mut items = Vec::new();
        read_items(&vec![TAG_VOID as u8; count], &mut *reader(Encoding::Compact), &mut items)
    };
    assert_eq!(read(LINK_BATCH_TAGS_MAX), Ok(LINK_BATCH_TAGS_MAX));
    assert_eq!(read(LINK_BATCH_TAGS_MAX + 1), Err(BatchError::TooMany));
}

/// Returns a batch of messages to these receivers, each named by position, with copies of one text.
fn flood(messages: usize, names: &[String]) -> Vec<u8> {
    let mut message = message(&[]);
    message.receivers = names.iter().map(|name| Aid::local(name.as_str())).collect();
    let (mut bytes, mut writer) = (Vec::new(), writer(Encoding::Compact));
    for _ in 0..messages {
        write_number(TAG_ALL, &mut bytes);
        let sized = begin_sized(&mut bytes);
        writer.write(&message, &mut bytes).unwrap();
        end_sized(sized, &mut bytes);
    }
    bytes
}

#[test]
fn shared_receivers_are_bounded() {
    let all: Vec<String> = (0..LINK_RECEIVERS_MAX).map(|n| format!("a{n}")).collect();
    let read = |bytes: &[u8]| {
        let (mut items, mut shares) = (Vec::new(), 0);
        let read = read_shares(bytes, &mut *reader(Encoding::Compact), &mut items, &mut shares);
        (read, items.len(), shares)
    };
    assert_eq!(read(&flood(1, &all)), (Ok(all.len()), all.len(), all.len() - 1));
    let (outcome, items, _) = read(&flood(3, &all));
    assert_eq!((outcome, items), (Err(BatchError::TooMany), 2 * all.len()));
    let many: Vec<String> = (0..=LINK_RECEIVERS_MAX).map(|n| format!("a{n}")).collect();
    assert_eq!(read(&flood(1, &many)).0, Err(BatchError::Receivers));
    let twice = ["ann", "bob", "ann"].map(String::from);
    let mut items = Vec::new();
    assert_eq!(read_items(&flood(1, &twice), &mut *reader(Encoding::Compact), &mut items), Ok(3));
    assert_eq!((names(&items), items.len()), (vec!["ann".to_owned(), "bob".to_owned()], 3));
}

#[test]
fn batch_closes_by_receiver_count() {
    let names: Vec<String> = (0..LINK_RECEIVERS_MAX).map(|n| format!("a{n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut items = VecDeque::new();
    for _ in 0..3 {
        Envelope::for_each_receiver(message(&names), |envelope| items.push_back(LinkItem::Message(envelope)));
    }
    let mut batches = BatchWriter::new(writer(Encoding::Compact));
    let written = batches.write(&items, 0, crate::limits::LINK_BATCH_BYTES, &mut Vec::new());
    assert_eq!((written.items, written.shares), (names.len(), names.len() - 1));
}

#[test]
fn hostile_batches_are_refused() {
    let mut items = Vec::new();
    for bytes in [&[9][..], &[0, 5, 1], &[0, 2, 99, 1], &[2, 0], &[2, 100, 1], &[3, 1, 200], &[3, 1, 1, 0xff, 0]] {
        assert!(read_items(bytes, &mut *reader(Encoding::Compact), &mut items).is_err(), "{bytes:?}");
    }
    assert!(items.is_empty());
}
