//! Senders and a stand-in for the links to other nodes.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use whimbrel_acl::{Aid, Envelope, MessageBody, Performative, Value};
use whimbrel_platform::Links;
use whimbrel_platform::ams::AgentKind;
use whimbrel_platform::df::{DfDescription, ServiceDescription};
use whimbrel_platform::limits::LINK_NEWS_ENTRIES;
use whimbrel_platform::link::News;
use whimbrel_platform::route::{NodeId, ShardIndex};
use whimbrel_runtime::{Agent, Context, Platform};

use crate::kit::{does, inform};

const OTHER: NodeId = NodeId(1);
/// Number of messages that the link accepts before senders wait.
const ROOM: usize = 100;

/// Link on which messages wait until a test has them written.
#[derive(Default)]
struct Narrow {
    waiting: AtomicUsize,
    most: AtomicUsize,
    sent: AtomicU64,
    /// Number of handovers.
    handed: AtomicU64,
    /// True if the link accepts everything.
    is_wide: AtomicBool,
    waiters: Mutex<Vec<ShardIndex>>,
    told: Mutex<Vec<News>>,
    /// Number of messages that were sent before each report of an agent's end.
    sent_before_ends: Mutex<Vec<u64>>,
}

impl Links for Narrow {
    fn send(&self, _to: NodeId, batch: &mut Vec<Envelope>, from: ShardIndex) -> usize {
        self.handed.fetch_add(1, Ordering::SeqCst);
        if self.is_wide.load(Ordering::SeqCst) {
            self.sent.fetch_add(batch.drain(..).len() as u64, Ordering::SeqCst);
            return usize::MAX;
        }
        let mut waiters = self.waiters.lock().unwrap();
        let waiting = self.waiting.fetch_add(batch.len(), Ordering::SeqCst) + batch.len();
        self.most.fetch_max(waiting, Ordering::SeqCst);
        self.sent.fetch_add(batch.len() as u64, Ordering::SeqCst);
        batch.clear();
        let room = ROOM.saturating_sub(waiting);
        if room == 0 && !waiters.contains(&from) {
            waiters.push(from);
        }
        room
    }

    fn go_on(&self) {}

    fn me(&self) -> String {
        "here".to_owned()
    }

    fn tell_all(&self, news: News) {
        if matches!(news, News::AgentEnded(..)) {
            self.sent_before_ends.lock().unwrap().push(self.sent.load(Ordering::SeqCst));
        }
        self.told.lock().unwrap().push(news);
    }

    fn tell(&self, _to: NodeId, news: News) {
        self.told.lock().unwrap().push(news);
    }

    fn waiting(&self) -> u64 {
        0
    }

    fn name_of(&self, _node: NodeId) -> Option<String> {
        Some("other".to_owned())
    }
}

impl Narrow {
    /// Writes all waiting messages.
    fn write(&self, platform: &Platform) {
        let mut waiters = self.waiters.lock().unwrap();
        self.waiting.store(0, Ordering::SeqCst);
        let waiters = std::mem::take(&mut *waiters);
        if !waiters.is_empty() {
            platform.station().drained(OTHER, &waiters);
        }
    }
}

/// Agent that sends as fast as it may.
struct LinkFlood {
    to: Aid,
    left: u64,
}

impl Agent for LinkFlood {
    fn on_start(&mut self, ctx: &mut Context<'_, '_>) {
        self.go_on(ctx);
    }

    fn on_message(&mut self, ctx: &mut Context<'_, '_>, _message: MessageBody) {
        self.go_on(ctx);
    }
}

impl LinkFlood {
    fn go_on(&mut self, ctx: &mut Context<'_, '_>) {
        for _ in 0..self.left.min(10) {
            self.left -= 1;
            ctx.tell(self.to, Performative::Inform, Value::Null);
        }
        if self.left > 0 {
            let me = ctx.aid();
            ctx.tell(me, Performative::Request, Value::Null);
        }
    }
}

fn linked(workers: usize) -> (Platform, Arc<Narrow>) {
    let platform = Platform::builder().workers(workers).build();
    let links = Arc::new(Narrow::default());
    platform.link_with(Arc::<Narrow>::clone(&links));
    platform.station().hear(OTHER, News::Agents(vec![("far".into(), AgentKind::Native)]));
    (platform, links)
}

/// A turn in which the platform is stopped may be late.
#[test]
fn last_messages_leave_before_end() {
    let (platform, links) = linked(2);
    let leaver = platform.clone();
    let last = does(move |ctx, _| {
        ctx.tell(Aid::local("far"), Performative::Inform, Value::Null);
        leaver.leave_with(0);
        std::thread::sleep(Duration::from_millis(200));
    });
    let last = platform.spawn("last", last).unwrap();
    platform.send(inform("x", last, Value::Null));
    assert_eq!(platform.run_until_stopped(), 0);
    assert_eq!(*links.sent_before_ends.lock().unwrap(), [1]);
}

#[test]
fn busy_agents_messages_are_batched() {
    const SENT: u64 = 50_000;
    let mut seldom = false;
    // On a busy machine a turn may take as long as they wait.
    for _ in 0..10 {
        let (platform, links) = linked(1);
        links.is_wide.store(true, Ordering::SeqCst);
        let began = Instant::now();
        platform.spawn("flood", LinkFlood { to: Aid::local("far"), left: SENT }).unwrap();
        platform.wait_idle();
        assert_eq!(links.sent.load(Ordering::SeqCst), SENT);
        // A handover happens every 50 us, or when so many messages are there; a round takes a third of that.
        let most = began.elapsed().as_micros() as u64 / 50 + SENT / 1_024 + 10;
        seldom |= links.handed.load(Ordering::SeqCst) <= most;
    }
    assert!(seldom);
}

#[test]
fn link_room_releases_senders() {
    for workers in [1, 2] {
        let (platform, links) = linked(workers);
        let (each, floods) = (2_000, 10);
        let begun = Instant::now();
        platform.spawn_population("flood", floods, |_| LinkFlood { to: Aid::local("far"), left: each }).unwrap();
        while links.sent.load(Ordering::SeqCst) < each * floods as u64 {
            std::thread::sleep(Duration::from_micros(200));
            links.write(&platform);
            assert!(begun.elapsed() < Duration::from_secs(60), "senders wait though there is room");
        }
        // At the beginning each of them has a turn; later they follow as there is room.
        let most = links.most.load(Ordering::SeqCst);
        assert!(most < 4 * ROOM + 10 * floods, "{most} messages waited");
        platform.wait_idle();
    }
}

#[test]
fn stuck_link_releases_senders_eventually() {
    let (platform, links) = linked(1);
    platform.spawn("flood", LinkFlood { to: Aid::local("far"), left: 150 }).unwrap();
    assert!(platform.wait_idle_for(Duration::from_secs(60)), "it waits for ever");
    assert_eq!(links.sent.load(Ordering::SeqCst), 150);
}

/// Only senders to a crowded agent are told; a new sender is told when it first sends.
#[test]
fn sending_nodes_hear_of_crowding() {
    let platform = Platform::builder().workers(1).mailbox_limits(10, 1_000).build();
    let links = Arc::new(Narrow::default());
    platform.link_with(Arc::<Narrow>::clone(&links));
    let slow = platform.spawn("slow", does(|_, _| ())).unwrap();
    platform.suspend(slow).unwrap();
    for number in 0..20 {
        platform.send(inform("someone", slow, number));
    }
    platform.wait_idle();
    let crowded = |links: &Narrow| {
        let told = links.told.lock().unwrap();
        told.iter().filter(|news| matches!(news, News::Crowded(..))).cloned().collect::<Vec<_>>()
    };
    assert_eq!(crowded(&links), [], "nobody else sends to it");
    let message = Envelope { to: slow, body: MessageBody::Owned(Box::new(inform("far", slow, 20))) };
    platform.station().arrive(OTHER, &mut vec![message]);
    platform.wait_idle();
    assert_eq!(crowded(&links), [News::Crowded(slow.name, true)]);
    platform.resume(slow).unwrap();
    platform.wait_idle();
    assert_eq!(crowded(&links), [News::Crowded(slow.name, true), News::Crowded(slow.name, false)]);
}

/// Messages come in rows, which are taken in as one.
#[test]
fn rows_arrive_in_order() {
    for workers in [1, 2] {
        let (platform, _) = linked(workers);
        let heard: Arc<Mutex<Vec<(usize, i64)>>> = Arc::default();
        let agents: Vec<Aid> = (0..3)
            .map(|agent| {
                let heard = Arc::clone(&heard);
                let note = move |_: &mut Context<'_, '_>, message: MessageBody| {
                    heard.lock().unwrap().push((agent, message.content.as_i64().unwrap_or(-1)));
                };
                platform.spawn(format!("taker{agent}").as_str(), does(note)).unwrap()
            })
            .collect();
        let gone = Aid::local("gone");
        let mut number = 0;
        for rows in [[1, 5, 0, 3], [7, 1, 1, 1], [0, 2_500, 4, 2], [1, 1, 30, 0]] {
            let mut messages = Vec::new();
            for (to, count) in agents.iter().copied().chain([gone]).zip(rows) {
                for _ in 0..count {
                    number += 1;
                    let message = inform("far", to, number);
                    // A message with more than content is in no row, but keeps its place.
                    let message = if number % 5 == 0 { message.in_conversation("c") } else { message };
                    messages.push(Envelope { to, body: MessageBody::Owned(Box::new(message)) });
                }
            }
            platform.station().arrive(OTHER, &mut messages);
            assert!(messages.is_empty());
        }
        platform.wait_idle();
        let heard = heard.lock().unwrap();
        for agent in 0..3 {
            let numbers: Vec<i64> = heard.iter().filter(|one| one.0 == agent).map(|one| one.1).collect();
            assert!(numbers.is_sorted(), "{numbers:?}");
        }
        assert_eq!(heard.len(), 9 + 2_507 + 35);
        let counters = platform.counters();
        assert_eq!((counters.came, counters.dead), (number as u64, 6));
        counters.check().unwrap();
    }
}

/// A row is equivalent to as many messages, wherever their receiver is.
#[test]
fn row_keeps_its_place() {
    for workers in [1, 2] {
        let (platform, _) = linked(workers);
        let heard: Arc<Mutex<Vec<i64>>> = Arc::default();
        let noted = Arc::clone(&heard);
        let note = move |_: &mut Context<'_, '_>, message: MessageBody| {
            noted.lock().unwrap().push(message.content.as_i64().unwrap_or(-1));
        };
        let taker = platform.spawn("taker", does(note)).unwrap();
        let gone = Aid::local("gone");
        let body = |to, number| MessageBody::Owned(Box::new(inform("far", to, number)));
        let station = platform.station();
        for rows in [1_i64..2, 2..3, 3..600, 600..602] {
            station.arrive(OTHER, &mut vec![Envelope { to: taker, body: body(taker, 2 * rows.start - 1) }]);
            station.arrive_row(OTHER, taker, rows.clone().map(|number| body(taker, 2 * number)).collect());
            station.arrive_row(OTHER, gone, rows.map(|number| body(gone, number)).collect());
        }
        platform.wait_idle();
        let heard = heard.lock().unwrap();
        assert!(heard.is_sorted() && heard.len() == 601 + 4, "{heard:?}");
        let counters = platform.counters();
        assert_eq!((counters.came, counters.dead), (2 * 601 + 4, 601));
        counters.check().unwrap();
    }
}

/// A mailbox accepts no more of a row than of single messages.
#[test]
fn full_mailbox_refuses_row_rest() {
    for hard in [20, 3_000] {
        let platform = Platform::builder().workers(1).mailbox_limits(10, hard).build();
        platform.link_with(Arc::new(Narrow::default()));
        let slow = platform.spawn("slow", does(|_, _| ())).unwrap();
        platform.suspend(slow).unwrap();
        let message = |number| Envelope { to: slow, body: MessageBody::Owned(Box::new(inform("far", slow, number))) };
        for _ in 0..2 {
            platform.station().arrive(OTHER, &mut (0..2_000).map(message).collect());
        }
        platform.wait_idle();
        let counters = platform.counters();
        assert_eq!((counters.came, counters.queued), (4_000, hard as u64));
        counters.check().unwrap();
    }
}

/// A sender that waited for a full mailbox continues when there is room, however long its delay had become.
#[test]
fn mailbox_room_releases_senders_in_time() {
    let waits = |attempt: u32| {
        let platform = Platform::builder().workers(1).mailbox_limits(100, 100_000).build();
        let over = Arc::new(AtomicBool::new(false));
        let slow = platform.spawn("slow", does(|_, _| ())).unwrap();
        platform.suspend(slow).unwrap();
        let told = Arc::clone(&over);
        let mut left = 40;
        let flood = does(move |ctx, message: MessageBody| {
            (0..10).for_each(|_| ctx.tell(slow, Performative::Inform, Value::Null));
            left -= 1;
            if left > 0 {
                let me = ctx.aid();
                ctx.tell(me, message.performative, Value::Null);
            } else {
                told.store(true, Ordering::SeqCst);
            }
        });
        let flood = platform.spawn("flood", flood).unwrap();
        platform.send(inform("x", flood, Value::Null));
        // It waits for 512 ms by now, since a moment ago.
        std::thread::sleep(Duration::from_millis(1_100));
        assert!(!over.load(Ordering::SeqCst), "attempt {attempt}: nothing held it up");
        let begun = Instant::now();
        platform.resume(slow).unwrap();
        while !over.load(Ordering::SeqCst) && begun.elapsed() < Duration::from_secs(10) {
            std::thread::sleep(Duration::from_millis(1));
        }
        begun.elapsed()
    };
    // The machine may be busy otherwise.
    let least = (0..3).map(waits).min().unwrap();
    assert!(least < Duration::from_millis(200), "it went on after {least:?}");
}

/// Each service crosses a link once, and the other node has the same entry.
#[test]
fn each_service_is_announced_once() {
    let ((here, links), (there, _)) = (linked(1), linked(1));
    let bob = here.spawn("bob", does(|_, _| ())).unwrap();
    for number in 0..100 {
        here.services().df_register(bob, &format!("service{number}"), "t").unwrap();
    }
    here.services().df_deregister(bob, "service7", "");
    here.services().df_register(bob, "last", "t").unwrap();
    let told = std::mem::take(&mut *links.told.lock().unwrap());
    let count = |news: &News| match news {
        News::Service(description) => description.services.len(),
        News::MoreServices { services, .. } => services.len(),
        _ => 0,
    };
    // The remaining services come one by one, then the last one.
    assert_eq!(told.iter().map(count).sum::<usize>(), 100 + 99 + 1);
    told.into_iter().for_each(|news| there.station().hear(OTHER, news));
    for (name, is_there) in [("service0", true), ("service7", false), ("service99", true), ("last", true)] {
        assert_eq!(there.services().df_search(name, "t"), if is_there { vec![bob] } else { vec![] }, "{name}");
    }
}

/// A new peer learns this node's directory entries, and only those, in chunks.
#[test]
fn new_peer_gets_directory_pieces() {
    let (here, _links) = linked(1);
    let far = ServiceDescription::new("far", "t");
    let entry = DfDescription { agent: Some(Aid::local("far")), services: vec![far], ..DfDescription::default() };
    here.station().hear(OTHER, News::Service(Box::new(entry)));
    let count = 2 * LINK_NEWS_ENTRIES + 10;
    for number in 0..count {
        let agent = here.spawn(format!("a{number}").as_str(), does(|_, _| ())).unwrap();
        here.services().df_register(agent, "near", "t").unwrap();
    }
    let (mut pieces, mut names) = (Vec::new(), Vec::new());
    let mut note = |news: Vec<News>| {
        let services = news.iter().filter_map(|news| match news {
            News::Service(description) => description.agent.map(|agent| agent.name),
            _ => None,
        });
        let before = names.len();
        names.extend(services);
        pieces.push(names.len() - before);
        assert_eq!(matches!(news[..], [News::Introduced]), names.len() == count && pieces.last() == Some(&0));
    };
    here.station().introduce(&mut note);
    let mut next = Some(0);
    while let Some(place) = next {
        next = here.station().introduce_more(place, &mut note);
    }
    assert!(pieces.iter().all(|piece| *piece <= LINK_NEWS_ENTRIES) && pieces.len() >= 5, "{pieces:?}");
    names.sort_unstable();
    names.dedup();
    assert_eq!((names.len(), names.contains(&"far".into())), (count, false));
}
