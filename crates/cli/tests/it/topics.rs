//! Topics and groups in AgentSpeak, and over real links.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use whimbrel_acl::{AclMessage, Aid, MessageBody, Performative, Value};
use whimbrel_net::{Hub, HubConfig};
use whimbrel_platform::Counters;
use whimbrel_platform::topics::topic;
use whimbrel_runtime::{Agent, Context, Platform};

use super::{CommandFolder, Scratch};

const BOSS: &str = r#"
!go.
+!go
   <- .wait(.count(ready(_), 3));
      .publish(news, tell, first);
      .send("topic:news", tell, second);
      .publish("nobody cares", tell, third);
      .wait(.count(heard(_, _), 4));
      .findall(h(A, What), heard(A, What), All); .sort(All, Heard); .print(Heard);
      .group_members(crew, Members); .sort(Members, Crew); .print(Crew);
      .send("any:crew", askOne, price(P), price(Price)); .print("a price: ", Price);
      .anycast(crew, achieve, job); .anycast(crew, achieve, job); .anycast(crew, achieve, job);
      .wait(.count(done(_), 3));
      .multicast(crew, tell, leave);
      .wait(.count(left(_), 3));
      !nobody_there;
      !bad_name;
      .stopMAS.

+!nobody_there <- .multicast(crew, tell, hello).
-!nobody_there[error(E), error_msg(M)] <- .print(E, ": ", M).
+!bad_name <- .subscribe("a@b").
-!bad_name[error(E), error_msg(M)] <- .print(E, ": ", M).
"#;

const WORKER: &str = r#"
price(10).
!go.
+!go <- .join_group(crew); .my_name(Me); !listen(Me); .send(boss, tell, ready(Me)).
+!listen(w3) <- .subscribe(news); .unsubscribe(news).
+!listen(_) <- .subscribe(news).
+first[source(S)] : .my_name(Me) <- .send(S, tell, heard(Me, first)).
+second[source(S)] : .my_name(Me) <- .send(S, tell, heard(Me, second)).
+!job[source(S)] : .my_name(Me) <- .send(S, tell, done(Me)).
+leave[source(S)] : .my_name(Me) <- .leave_group(crew); .send(S, tell, left(Me)).
"#;

#[test]
fn agents_publish_subscribe_and_share_work() {
    let project = "MAS x { agents: boss; w1 worker.asl; w2 worker.asl; w3 worker.asl; }";
    let scratch = Scratch::with(&[("x.mas2j", project), ("boss.asl", BOSS), ("worker.asl", WORKER)]);
    for (nodes, level) in [("1", "open"), ("2", "open"), ("2", "signed")] {
        let seen = scratch.run(&["run", "x.mas2j", "--nodes", nodes, "--security", level]);
        let expected = "\
[boss] [h(w1,first),h(w1,second),h(w2,first),h(w2,second)]
[boss] [w1,w2,w3]
[boss] a price: 10
[boss] receiver_not_found: Receiver 'group:crew' does not exist! Could not send <mid";
        assert!(seen.out.starts_with(expected), "{nodes}: {}{}", seen.out, seen.err);
        let last = seen.out.lines().last().unwrap_or_default();
        let bad = "[boss] wrong_arguments: Wrong argument for internal action 'subscribe': \"a@b\" cannot name a topic or \
                   a group: expected 1 to 240 bytes without `@`";
        assert_eq!((last, seen.code), (bad, Some(0)), "{}", seen.err);
    }
}

/// Subscribes to `ticks`, and counts those that come in order.
struct TickCounter {
    next: i64,
    in_order: Arc<AtomicU64>,
}

impl Agent for TickCounter {
    fn on_start(&mut self, ctx: &mut Context<'_, '_>) {
        ctx.subscribe("ticks").expect("that is a name");
    }

    fn on_message(&mut self, _ctx: &mut Context<'_, '_>, message: MessageBody) {
        if matches!(message.content, Value::Int(number) if number == self.next) {
            self.next += 1;
            self.in_order.fetch_add(1, Ordering::Relaxed);
        }
    }
}

fn until(what: &str, mut so: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(30);
    while !so() {
        assert!(Instant::now() < end, "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn node(name: &str) -> (Platform, Hub) {
    let platform = Platform::builder().workers(2).build();
    let config = HubConfig::new("whimbrel", name, platform.services().random());
    let hub = Hub::start(config, platform.station(), Some("127.0.0.1:0")).expect("it starts");
    assert!(platform.link_with(hub.links()));
    (platform, hub)
}

#[test]
fn publication_crosses_link_once() {
    const SUBSCRIBERS: u64 = 50;
    const PUBLICATIONS: u64 = 2_000;
    let ((here, here_hub), (there, there_hub)) = (node("here"), node("there"));
    let in_order = Arc::new(AtomicU64::new(0));
    for (platform, name) in [(&there, "far"), (&here, "near")] {
        let counter = |_| TickCounter { next: 0, in_order: Arc::clone(&in_order) };
        platform.spawn_population(name, SUBSCRIBERS as usize, counter).expect("names are free");
        platform.wait_idle();
    }
    here_hub.connect(there_hub.address().expect("it listens"));
    until("they are linked", || here_hub.has_links(1) && there_hub.has_links(1));
    // The news that somebody there subscribes comes with the introduction, before anything else.
    until("the nodes know each other", || {
        here.services().exists(Aid::local("far50")) && there.services().exists(Aid::local("near50"))
    });
    until("all is said", || here_hub.links().waiting() + there_hub.links().waiting() == 0);
    std::thread::sleep(Duration::from_millis(100));
    let items = || there_hub.status().first().map_or(0, |link| link.items_in);
    let before = items();
    let ticks = topic("ticks").expect("that is a name");
    for number in 0..PUBLICATIONS {
        let content = Value::Int(number as i64);
        here.send(AclMessage::new(Performative::Inform, Aid::local("near1"), ticks, content));
    }
    until("all have got all, in order", || in_order.load(Ordering::Relaxed) == 2 * SUBSCRIBERS * PUBLICATIONS);
    assert_eq!(items() - before, PUBLICATIONS);
    until("all is acknowledged", || here_hub.links().waiting() == 0);
    let counters: Counters = [here.counters(), there.counters()].into_iter().sum();
    assert_eq!(counters.sent, 2 * SUBSCRIBERS * PUBLICATIONS);
    assert!(counters.check().is_ok(), "{counters}");
}
