//! Topics and groups in the simulator: on one platform, and between two nodes on a wire that breaks.

use whimbrel_acl::{AclMessage, Aid, Envelope, MessageBody, Performative, Symbol, Value};
use whimbrel_platform::link::LinkItem;
use whimbrel_platform::route::NodeId;
use whimbrel_platform::topics::{Topics, any_member, group, topic};
use whimbrel_platform::{AgentBody, EndReason, Next, Turn};
use whimbrel_testkit::{Faults, LinkPair, Probe, Random, simulate};

#[test]
fn subscribers_get_publications() {
    simulate(|sim| {
        let (weather, probes) = (topic("weather").unwrap(), [Probe::new(), Probe::new(), Probe::new()]);
        for (number, probe) in probes.iter().enumerate() {
            let aid = sim.spawn(&format!("probe{number}"), probe.body());
            sim.services().join(aid, weather).unwrap();
        }
        let publish = |sim: &mut whimbrel_testkit::Simulation, content: &str| {
            sim.send(AclMessage::new(Performative::Inform, Aid::local("test"), weather, Value::atom(content)));
            sim.run_until_idle();
        };
        publish(sim, "rain");
        assert!(sim.kill("probe0"));
        publish(sim, "sun");
        assert!(sim.services().leave(Aid::local("probe1"), weather));
        publish(sim, "snow");
        let heard = probes.map(|probe| probe.take_lines().join(", "));
        assert_eq!(heard, ["inform rain", "inform rain, inform sun", "inform rain, inform sun, inform snow"]);
        assert_eq!((sim.counters().sent, sim.counters().handled, sim.counters().dead), (6, 6, 0));
    });
}

/// Agent that publishes, casts, joins, leaves, and dies now and then.
struct TopicGossip;

impl AgentBody for TopicGossip {
    fn turn(&mut self, turn: &mut Turn<'_>) -> Next {
        for _ in 0..turn.budget.min(4) {
            turn.mailbox.take();
        }
        let (weather, crew, any) = (topic("weather").unwrap(), group("crew").unwrap(), any_member("crew").unwrap());
        let pick = turn.services.random() % 12;
        let to = match pick {
            0 => return Next::End(EndReason::Finished),
            1..4 => turn.services.join(turn.aid, weather).map(|()| weather).unwrap(),
            4..6 => turn.services.join(turn.aid, crew).map(|()| crew).unwrap(),
            6 => {
                turn.services.leave(turn.aid, weather);
                any
            }
            7 => {
                turn.services.leave(turn.aid, crew);
                weather
            }
            8 => crew,
            _ => any,
        };
        turn.outbox.send(AclMessage::new(Performative::Inform, turn.aid, to, Value::Int(pick as i64)));
        Next::WaitUntil(whimbrel_platform::Time(turn.now.0 + 1 + turn.services.random() % 3_000))
    }
}

#[test]
fn multicast_counters_balance() {
    simulate(|sim| {
        sim.set_mailbox_max(30);
        for number in 0..10 {
            sim.spawn(&format!("gossip{number}"), Box::new(TopicGossip));
            if number % 3 == 0 {
                sim.network().place(&format!("gossip{number}"), NodeId(1));
            }
        }
        for _ in 0..100 {
            sim.run_for(1);
            sim.counters().check().unwrap();
        }
        assert!(sim.counters().sent > 20);
    });
}

/// Node with subscribers of topics.
struct TopicNode {
    topics: Topics,
    /// Numbers that each agent got, a run for each subscription.
    got: Vec<Vec<Vec<i64>>>,
}

impl TopicNode {
    fn news(&mut self) -> Vec<LinkItem> {
        std::iter::from_fn(|| self.topics.poll_news()).map(|news| LinkItem::News(Box::new(news))).collect()
    }
}

fn agent(number: usize) -> Symbol {
    Symbol::new(&format!("subscriber{number}"))
}

/// A publication crosses a link once, whoever subscribes and however often the link breaks; each subscriber gets all of
/// a run.
#[test]
fn publications_cross_breaking_link_once() {
    let weather = topic("weather").unwrap();
    let (mut resumed, mut shortest) = (0, usize::MAX);
    for seed in 0..30 {
        let mut random = Random::new(seed);
        let mut pair = LinkPair::new(seed);
        let mut publisher = Topics::new();
        let mut node = TopicNode { topics: Topics::new(), got: vec![vec![Vec::new()]; 5] };
        pair.run_for(50);
        // One agent stays, so that there is always a subscriber.
        node.topics.join(agent(0), weather.name, false).unwrap();
        pair.ends[1].link.offer(&mut node.news());
        pair.run_for(50);
        pair.faults = Faults { cut: 20, drop: 40, double: 40, garble: 0 };
        let mut published = 0;
        for _ in 0..400 {
            for item in pair.ends[0].arrived.drain(..) {
                let LinkItem::News(news) = item else { panic!("only news go this way") };
                assert!(publisher.handle_news(NodeId(1), &news));
            }
            let audience = publisher.audience(weather.name).expect("one always subscribes");
            assert_eq!((audience.copies(), audience.nodes.len()), (1, 1));
            let content = Value::Int(published);
            let message = AclMessage::new(Performative::Inform, Aid::local("a"), weather, content);
            let envelope = Envelope { to: weather, body: MessageBody::Owned(Box::new(message)) };
            pair.ends[0].link.offer(&mut vec![LinkItem::Message(envelope)]);
            published += 1;
            change_one(&mut node, &mut random, weather.name);
            pair.ends[1].link.offer(&mut node.news());
            pair.run_for(random.between(0..=5));
            take(&mut node, &mut pair, weather);
        }
        pair.faults = Faults::default();
        pair.run_for(15_000);
        take(&mut node, &mut pair, weather);
        assert_eq!(node.got[0][0], (0..published).collect::<Vec<_>>(), "seed {seed}");
        for runs in &node.got[1..] {
            for run in runs {
                assert!(run.windows(2).all(|pair| pair[0] + 1 == pair[1]), "seed {seed}: {run:?}");
            }
        }
        resumed += pair.ends[0].resumed;
        shortest = shortest.min(node.got[1].len());
    }
    assert!(resumed > 30 && shortest > 5, "links broke and agents came and went: {resumed} {shortest}");
}

/// Has one agent subscribe, or unsubscribe.
fn change_one(node: &mut TopicNode, random: &mut Random, name: Symbol) {
    let number = random.between(1..=4) as usize;
    if node.topics.join(agent(number), name, false).unwrap() {
        node.got[number].push(Vec::new());
    } else {
        node.topics.leave(agent(number), name);
    }
}

/// Delivers each message that arrived to all subscribers.
fn take(node: &mut TopicNode, pair: &mut LinkPair, topic: Aid) {
    for item in pair.ends[1].arrived.drain(..) {
        let LinkItem::Message(envelope) = item else { continue };
        assert_eq!((envelope.to, envelope.body.receivers.as_slice()), (topic, [topic].as_slice()));
        let Value::Int(number) = envelope.body.content else { panic!("{envelope:?}") };
        for subscriber in &node.topics.audience(topic.name).expect("one always subscribes").local {
            let index: usize = subscriber.as_str().trim_start_matches("subscriber").parse().unwrap();
            node.got[index].last_mut().expect("a run has begun").push(number);
        }
    }
}
