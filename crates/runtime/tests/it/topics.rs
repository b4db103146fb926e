//! Topics and groups on one node.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use whimbrel_acl::{AclMessage, Aid, MessageBody, Performative, Value};
use whimbrel_platform::topics::{TopicError, any_member, group, topic};
use whimbrel_runtime::{Agent, Context, Platform};

use super::kit::{assert_balanced, does, inform, platform, wait_for};

/// Record of messages: `name<receiver:content`.
#[derive(Clone, Default)]
pub struct MessageRecord(pub Arc<Mutex<Vec<String>>>);

impl MessageRecord {
    pub fn note(&self, ctx: &Context<'_, '_>, message: &AclMessage) {
        let line = format!("{}<{}:{}", ctx.aid(), message.receivers[0], message.content);
        self.0.lock().unwrap().push(line);
    }

    pub fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    fn sorted(&self) -> Vec<String> {
        let mut lines = self.lines();
        lines.sort();
        lines
    }

    pub fn count(&self, part: &str) -> usize {
        self.lines().iter().filter(|line| line.contains(part)).count()
    }
}

/// Agent that subscribes to topics and joins groups when it starts, and records its messages.
struct TopicListener {
    topics: Vec<&'static str>,
    groups: Vec<&'static str>,
    heard: MessageRecord,
}

impl Agent for TopicListener {
    fn on_start(&mut self, ctx: &mut Context<'_, '_>) {
        for name in &self.topics {
            ctx.subscribe(name).unwrap();
        }
        for name in &self.groups {
            ctx.join(name).unwrap();
        }
    }

    fn on_message(&mut self, ctx: &mut Context<'_, '_>, message: MessageBody) {
        self.heard.note(ctx, &message);
        match message.content.to_string().as_str() {
            "leave" => assert!(ctx.unsubscribe("weather") || ctx.leave("crew")),
            "end" => ctx.end(),
            _ => {}
        }
    }
}

fn listen(
    platform: &Platform,
    name: &str,
    heard: &MessageRecord,
    topics: &[&'static str],
    groups: &[&'static str],
) -> Aid {
    let listener = TopicListener { topics: topics.into(), groups: groups.into(), heard: heard.clone() };
    let aid = platform.spawn(name, listener).unwrap();
    platform.wait_idle();
    aid
}

fn publish(platform: &Platform, to: Aid, content: &str) {
    platform.send(inform("test", to, Value::atom(content)));
    platform.wait_idle();
}

#[test]
fn subscribers_get_the_same_message() {
    for workers in [1, 3] {
        let (platform, _) = platform(workers);
        let heard = MessageRecord::default();
        for (number, name) in ["a", "b", "c"].into_iter().enumerate() {
            let aid = listen(&platform, name, &heard, &["weather"], &[]);
            platform.move_to_worker(aid, number);
        }
        listen(&platform, "d", &heard, &["news"], &[]);
        platform.wait_idle();
        publish(&platform, topic("weather").unwrap(), "rain");
        assert_eq!(heard.sorted(), ["a<topic:weather:rain", "b<topic:weather:rain", "c<topic:weather:rain"]);
        let counters = platform.counters();
        assert_balanced(counters);
        assert_eq!((counters.sent, counters.handled), (3, 3), "a publication to three counts as three messages");
    }
}

#[test]
fn topic_without_subscribers_accepts_messages() {
    let (platform, _) = platform(1);
    publish(&platform, topic("weather").unwrap(), "rain");
    let counters = platform.counters();
    assert_eq!((counters.sent, counters.handled, counters.dead), (1, 1, 0));
    assert!(platform.services().exists(topic("weather").unwrap()));
    assert!(!platform.services().exists(group("crew").unwrap()));
}

#[test]
fn former_subscribers_get_nothing() {
    let (platform, _) = platform(2);
    let heard = MessageRecord::default();
    let [a, b, c] = ["a", "b", "c"].map(|name| listen(&platform, name, &heard, &["weather"], &[]));
    platform.send(inform("test", a, Value::atom("leave")));
    platform.send(inform("test", b, Value::atom("end")));
    platform.wait_idle();
    publish(&platform, topic("weather").unwrap(), "rain");
    assert_eq!(heard.count(":rain"), 1);
    assert!(platform.kill(c));
    platform.wait_idle();
    publish(&platform, topic("weather").unwrap(), "rain");
    assert_eq!(heard.count(":rain"), 1);
    // Another agent of that name begins without subscriptions.
    listen(&platform, "c", &heard, &[], &[]);
    publish(&platform, topic("weather").unwrap(), "rain");
    assert_eq!((heard.count(":rain"), platform.dead_letters().len()), (1, 0));
    assert_balanced(platform.counters());
}

#[test]
fn anycast_rotates_multicast_reaches_all() {
    let (platform, _) = platform(2);
    let heard = MessageRecord::default();
    for name in ["a", "b", "c"] {
        listen(&platform, name, &heard, &[], &["crew"]);
    }
    for _ in 0..9 {
        publish(&platform, any_member("crew").unwrap(), "job");
    }
    for name in ["a", "b", "c"] {
        assert_eq!(heard.count(&format!("{name}<any:crew:job")), 3);
    }
    publish(&platform, group("crew").unwrap(), "all");
    assert_eq!(heard.count("<group:crew:all"), 3);
    let members = platform.services().members(group("crew").unwrap());
    assert_eq!(members, ["a", "b", "c"].map(Aid::local));
    assert_balanced(platform.counters());
}

#[test]
fn empty_group_answers_failure() {
    let (platform, _) = platform(1);
    for to in [any_member("crew").unwrap(), group("crew").unwrap()] {
        let answer = platform.ask_within(Duration::from_secs(5), inform("test", to, "job"));
        assert!(answer.is_err(), "it is known not to exist: {answer:?}");
        let heard = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&heard);
        let sender = platform
            .spawn(
                format!("sender-to-{}", to.name).as_str(),
                does(move |ctx, message| {
                    if message.performative == Performative::Failure {
                        noted.lock().unwrap().push(message.content.to_string());
                    } else {
                        ctx.tell(to, Performative::Request, Value::atom("job"));
                    }
                }),
            )
            .unwrap();
        platform.send(inform("test", sender, "go"));
        platform.wait_idle();
        let expected = format!("undelivered({},no_member)", to.name);
        assert!(heard.lock().unwrap()[0].contains("no_member"), "{expected}: {heard:?}");
    }
    assert_balanced(platform.counters());
}

/// A member that ends with jobs in its mailbox leaves them to the others.
#[test]
fn ended_members_jobs_are_reassigned() {
    let (platform, _) = platform(1);
    let heard = MessageRecord::default();
    let lazy = listen(&platform, "lazy", &heard, &[], &["crew"]);
    platform.suspend(lazy).unwrap();
    platform.wait_idle();
    for _ in 0..4 {
        publish(&platform, any_member("crew").unwrap(), "job");
    }
    listen(&platform, "keen", &heard, &[], &["crew"]);
    assert_eq!(heard.lines().len(), 0);
    assert!(platform.kill(lazy));
    platform.wait_idle();
    assert_eq!(heard.count("keen<any:crew:job"), 4, "{:?}", heard.lines());
    assert_eq!((platform.dead_letters().len(), platform.counters().dead), (0, 0));
    assert_balanced(platform.counters());
}

#[test]
fn crowded_member_is_skipped() {
    let lines = super::kit::Lines::default();
    let platform = Platform::builder().workers(1).output(lines).mailbox_limits(5, 100).build();
    let heard = MessageRecord::default();
    let lazy = listen(&platform, "lazy", &heard, &[], &["crew"]);
    listen(&platform, "keen", &heard, &[], &["crew"]);
    platform.suspend(lazy).unwrap();
    platform.wait_idle();
    for _ in 0..40 {
        publish(&platform, any_member("crew").unwrap(), "job");
    }
    assert_eq!(heard.count("keen<any:crew:job"), 35, "five wait for the other one");
    assert_eq!(platform.counters().queued, 5);
}

#[test]
fn crowded_subscriber_slows_publisher() {
    let platform = Platform::builder().workers(2).mailbox_limits(100, 1_000_000).build();
    let heard = MessageRecord::default();
    let lazy = listen(&platform, "lazy", &heard, &["weather"], &[]);
    platform.suspend(lazy).unwrap();
    platform.wait_idle();
    let sent = Arc::new(Mutex::new(0u64));
    let counted = Arc::clone(&sent);
    let publisher = platform
        .spawn(
            "publisher",
            does(move |ctx, _| {
                ctx.publish("weather", Performative::Inform, "rain").unwrap();
                *counted.lock().unwrap() += 1;
                let me = ctx.aid();
                ctx.tell(me, Performative::Inform, "again");
            }),
        )
        .unwrap();
    platform.send(inform("test", publisher, "go"));
    // Until the mailbox is full nothing slows it.
    wait_for("the mailbox is full", || *sent.lock().unwrap() >= 100);
    std::thread::sleep(Duration::from_millis(300));
    let count = *sent.lock().unwrap();
    // At full speed it would be hundreds of thousands.
    assert!(count < 20_000, "{count}");
    platform.kill(publisher);
}

/// One agent's direct messages and publications to another arrive in order, also while both move.
#[test]
fn direct_and_published_keep_order() {
    let (platform, _) = platform(3);
    let heard = MessageRecord::default();
    let listeners = ["a", "b", "c"].map(|name| listen(&platform, name, &heard, &["weather"], &[]));
    let publisher = platform
        .spawn(
            "publisher",
            does(move |ctx, message| {
                let n = message.content.as_f64().unwrap() as i64;
                ctx.publish("weather", Performative::Inform, Value::Int(2 * n)).unwrap();
                for listener in listeners {
                    ctx.tell(listener, Performative::Inform, Value::Int(2 * n + 1));
                }
            }),
        )
        .unwrap();
    for n in 0..3_000_i64 {
        platform.send(inform("test", publisher, Value::Int(n)));
        if n % 100 == 0 {
            platform.move_to_worker(publisher, n as usize / 100);
            platform.move_to_worker(listeners[n as usize % 3], n as usize / 70);
        }
    }
    platform.wait_idle();
    for name in ["a", "b", "c"] {
        let lines = heard.lines();
        let of_this = lines.iter().filter(|line| line.starts_with(name));
        let numbers: Vec<u64> = of_this.map(|line| line.rsplit_once(':').unwrap().1.parse().unwrap()).collect();
        assert_eq!(numbers, (0..6_000).collect::<Vec<_>>(), "{name}");
    }
    assert_balanced(platform.counters());
}

#[test]
fn topic_names_belong_to_nobody() {
    let (platform, _) = platform(1);
    for name in ["topic:weather", "group:crew", "any:crew"] {
        assert!(platform.spawn(name, does(|_, _| ())).is_err(), "{name}");
    }
    let services = platform.services();
    let amy = platform.spawn("amy", does(|_, _| ())).unwrap();
    assert_eq!(services.join(amy, amy), Err(TopicError::NotJoinable(amy)));
    let elsewhere = topic("weather").unwrap().at("elsewhere");
    assert_eq!(services.join(amy, elsewhere), Err(TopicError::NotJoinable(elsewhere)));
    let nobody = Aid::local("nobody");
    assert_eq!(services.join(nobody, topic("weather").unwrap()), Err(TopicError::NoSuchAgent(nobody)));
    assert!(!services.leave(amy, topic("weather").unwrap()));
}
