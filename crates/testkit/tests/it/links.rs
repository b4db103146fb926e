//! Links: once and in order, whatever the wire does.

use whimbrel_acl::{AclMessage, Aid, Encoding, Envelope, MessageBody, Performative, Symbol, Value};
use whimbrel_platform::ams::AgentKind;
use whimbrel_platform::df::{DfDescription, ServiceDescription};
use whimbrel_platform::limits::LINK_MESSAGE_BYTES_MAX;
use whimbrel_platform::limits::{
    LINK_BACKOFF_MS_MAX, LINK_CLAIM_MS, LINK_FLIGHT_BYTES, LINK_GIVE_UP_MS, LINK_SILENCE_MS, LINK_UNREAD_FORGOTTEN_MS,
};
use whimbrel_platform::link::{LinkError, LinkFrame, LinkItem, News};
use whimbrel_testkit::{Faults, LinkContest, LinkEnd, LinkPair, Random};

const SEEDS: u64 = 50;

fn count_to(end: u64) -> Vec<u64> {
    (0..end).collect()
}

#[test]
fn what_is_offered_arrives() {
    let mut pair = LinkPair::new(1);
    (0..100).for_each(|number| pair.ends[0].send(number));
    pair.run_for(100);
    (100..1000).for_each(|number| pair.ends[0].send(number));
    (0..500).for_each(|number| pair.ends[1].send(number));
    pair.run_for(100);
    assert_eq!(pair.ends[1].numbers(), count_to(1000));
    assert_eq!(pair.ends[0].numbers(), count_to(500));
    assert_eq!((pair.ends[0].link.waiting(), pair.ends[1].link.waiting()), (0, 0), "all is acknowledged");
    assert_eq!((pair.ends[0].began, pair.ends[0].resumed), (1, 0));
}

#[test]
fn connected_ends_know_round_trip() {
    let mut pair = LinkPair::new(2);
    assert_eq!(pair.ends[0].link.round_trip(), None);
    pair.run_for(100);
    for end in &pair.ends {
        let took = end.link.round_trip().expect("both asked");
        assert!(took <= std::time::Duration::from_millis(10), "{took:?}");
    }
    pair.severed = true;
    pair.ends[0].send(1);
    pair.run_for(2 * LINK_SILENCE_MS);
    assert!(
        pair.ends.iter().all(|end| end.link.round_trip().is_none()),
        "of a connection that is gone nothing is known"
    );
    pair.severed = false;
    pair.run_for(5_000);
    assert!(pair.ends.iter().all(|end| end.link.round_trip().is_some()));
}

/// Trains of measurement are no items: no message that is sent meanwhile is lost, doubled or overtaken.
#[test]
fn link_is_measured_during_traffic() {
    let mut pair = LinkPair::new(3);
    pair.run_for(100);
    assert_eq!(pair.ends[0].link.take_measured(), None, "nobody asked");
    for round in 0..100 {
        for end in &mut pair.ends {
            end.link.measure(pair.now);
            end.send(round);
        }
        pair.run_for(10);
    }
    pair.run_for(1_000);
    for end in &mut pair.ends {
        let measured = end.link.take_measured().expect("all was measured");
        assert!(measured.at.is_some() && measured.round_trip <= Some(std::time::Duration::from_millis(10)));
        // The wire takes 1 to 5 ms, however long the train.
        assert!(measured.out_bytes_per_s > Some(1e6) && measured.back_bytes_per_s > Some(1e6), "{measured:?}");
        assert_eq!(end.link.take_measured(), None, "it was told");
        assert_eq!(end.numbers(), count_to(100));
    }
}

#[test]
fn bad_wire_delivers_once_in_order() {
    let (mut resumed, mut errors) = (0, 0);
    for seed in 0..SEEDS {
        let mut pair = LinkPair::new(seed);
        pair.faults = Faults { cut: 40, drop: 40, double: 40, garble: 0 };
        let mut sent = [0, 0];
        for _ in 0..100 {
            for (end, sent) in pair.ends.iter_mut().zip(&mut sent) {
                end.link.measure(pair.now);
                for _ in 0..7 {
                    end.send(*sent);
                    *sent += 1;
                }
            }
            pair.run_for(10);
        }
        pair.faults = Faults::default();
        // A lost hello is found out by silence.
        pair.run_for(15_000);
        assert_eq!(pair.ends[1].numbers(), count_to(sent[0]), "seed {seed}");
        assert_eq!(pair.ends[0].numbers(), count_to(sent[1]), "seed {seed}");
        assert_eq!((pair.ends[0].link.waiting(), pair.ends[1].link.waiting()), (0, 0), "seed {seed}");
        assert_eq!((pair.ends[0].lost.len(), pair.ends[1].lost.len()), (0, 0), "seed {seed}");
        resumed += pair.ends[0].resumed;
        errors += pair.ends.iter().map(|end| end.errors.len()).sum::<usize>();
    }
    assert!(resumed > SEEDS as usize && errors > SEEDS as usize, "the wire was bad: {resumed} {errors}");
}

/// A leaving end still acknowledges items until it has heard that it may go.
#[test]
fn items_after_farewell_are_accepted() {
    for seed in 0..SEEDS {
        let mut pair = LinkPair::new(seed);
        pair.run_for(100);
        pair.ends[1].send(0);
        for number in 0..50 {
            pair.ends[0].send(number);
            pair.ends[0].link.measure(pair.now);
            if number == 25 {
                pair.ends[1].link.leave();
            }
            pair.run_for(1);
        }
        pair.run_for(2 * LINK_SILENCE_MS);
        assert_eq!(pair.ends[0].numbers(), [0], "seed {seed}");
        for end in &pair.ends {
            assert!(end.errors.is_empty(), "seed {seed}: {:?}", end.errors);
        }
    }
}

#[test]
fn garbled_bytes_stop_no_node() {
    for seed in 0..SEEDS {
        let mut pair = LinkPair::new(seed);
        pair.faults = Faults { garble: 3, ..Faults::default() };
        for number in 0..300 {
            pair.ends[0].send(number);
            pair.ends[1].send(number);
            pair.run_for(5);
        }
    }
}

#[test]
fn ten_second_cut_loses_nothing() {
    for seed in 0..20 {
        let mut pair = LinkPair::new(seed);
        let mut sent = 0;
        for ms in 0..15_000 {
            pair.severed = (2_000..12_000).contains(&ms);
            if ms % 10 == 0 {
                pair.ends[0].send(sent);
                sent += 1;
            }
            pair.run_for(1);
        }
        pair.run_for(5_000);
        assert_eq!(pair.ends[1].numbers(), count_to(sent));
        assert_eq!((pair.ends[0].began, pair.ends[0].lost.len()), (1, 0));
        assert!(pair.ends[0].resumed >= 1);
    }
}

#[test]
fn absent_peer_is_given_up() {
    let mut pair = LinkPair::new(3);
    pair.run_for(100);
    pair.severed = true;
    (0..10).for_each(|number| pair.ends[0].send(number));
    pair.run_for(LINK_GIVE_UP_MS - 1_000);
    assert!(pair.ends[0].lost.is_empty());
    pair.run_for(12_000);
    assert_eq!(pair.ends[0].lost_numbers(), count_to(10));
    pair.severed = false;
    pair.run_for(5_000);
    pair.ends[0].send(10);
    pair.run_for(100);
    assert_eq!(pair.ends[1].numbers(), [10]);
    assert_eq!((pair.ends[0].began, pair.ends[1].began), (2, 2), "it is there again, as one who knows nothing");
}

#[test]
fn new_process_gets_no_old_messages() {
    for end in [0, 1] {
        let mut pair = LinkPair::new(4);
        pair.run_for(100);
        pair.ends[1 - end].send(0);
        pair.run_for(100);
        assert_eq!(pair.ends[end].numbers(), [0]);
        pair.restart(end);
        pair.ends[1 - end].send(1);
        pair.run_for(5_000);
        pair.ends[1 - end].send(2);
        pair.run_for(100);
        assert_eq!(pair.ends[1 - end].lost_numbers(), [1]);
        assert_eq!(pair.ends[end].numbers(), [2]);
    }
}

#[test]
fn busy_receiver_stops_its_sender() {
    let mut pair = LinkPair::new(5);
    pair.ends[1].busy = true;
    let many = 100_000;
    (0..many).for_each(|number| pair.ends[0].send(number));
    pair.run_for(4_000);
    let arrived = pair.ends[1].arrived.len();
    // A message that is like the one before takes five bytes, a batch more may be under way.
    assert!(arrived > 0 && (arrived as u64) < LINK_FLIGHT_BYTES / 4, "{arrived}");
    let before = arrived;
    pair.run_for(1_000);
    assert_eq!(pair.ends[1].arrived.len(), before, "nothing more comes");
    pair.ends[1].busy = false;
    pair.run_for(2_000);
    assert_eq!(pair.ends[1].numbers(), count_to(many));
    assert_eq!(pair.ends[0].link.waiting(), 0);
}

/// Puts a message with this content on the first end, and one before it and after it.
fn send_between(pair: &mut LinkPair, content: Value) {
    pair.ends[0].send(0);
    send_content(&mut pair.ends[0], content);
    pair.ends[0].send(1);
}

fn send_content(end: &mut LinkEnd, content: Value) {
    let message = AclMessage::new(Performative::Inform, Aid::local("a"), Aid::local("b"), content);
    let envelope = Envelope { to: Aid::local("b"), body: MessageBody::Owned(Box::new(message)) };
    end.link.offer(&mut vec![LinkItem::Message(envelope)]);
}

#[test]
fn overlong_message_comes_back() {
    for encoding in [Encoding::Compact, Encoding::String] {
        let mut pair = LinkPair::writing(6, encoding);
        send_between(&mut pair, Value::from("x".repeat(LINK_MESSAGE_BYTES_MAX + 1)));
        pair.run_for(1_000);
        assert_eq!(pair.ends[1].numbers(), [0, 1], "{encoding}");
        assert_eq!(pair.ends[0].unsendable.len(), 1, "{encoding}");
        assert_eq!((pair.ends[0].began, pair.ends[0].resumed), (1, 0), "{encoding}: it never broke");
    }
}

/// Few bytes can say what takes more memory than a reader allows.
#[test]
fn unreadable_message_comes_back() {
    let mut pair = LinkPair::new(7);
    send_between(&mut pair, Value::list(std::iter::repeat_n(Value::Int(7), 3_000_000)));
    pair.run_for(5_000);
    assert_eq!(pair.ends[1].numbers(), [0, 1]);
    assert_eq!(pair.ends[0].unsendable.len(), 1);
    let errors = &pair.ends[1].errors;
    assert_eq!(errors.len(), 2, "it is tried again once: {errors:?}");
    pair.ends[0].send(2);
    pair.run_for(100);
    assert_eq!(pair.ends[1].numbers(), [0, 1, 2]);
    assert_eq!(pair.ends[0].link.waiting(), 0);
}

#[test]
fn unreadable_news_are_left_out() {
    let mut pair = LinkPair::new(9);
    pair.ends[0].send(0);
    let many = Value::list(std::iter::repeat_n(Value::Int(7), 3_000_000));
    let service = ServiceDescription { properties: vec![("prices".into(), many)], ..ServiceDescription::default() };
    let description = DfDescription { services: vec![service], ..DfDescription::default() };
    pair.ends[0].link.offer(&mut vec![LinkItem::News(Box::new(News::Service(Box::new(description))))]);
    pair.ends[0].send(1);
    pair.run_for(5_000);
    assert_eq!(pair.ends[1].numbers(), [0, 1]);
    assert_eq!(pair.ends[1].errors.len(), 2, "they are tried again once: {:?}", pair.ends[1].errors);
    assert_eq!((pair.ends[0].link.waiting(), pair.ends[0].unsendable.len()), (0, 0));
}

#[test]
fn new_names_over_bound_come_back() {
    for encoding in [Encoding::Compact, Encoding::String] {
        let mut pair = LinkPair::writing(10, encoding);
        pair.renamed = Some(("said-here", "said-away"));
        pair.ends[1].link.set_name_bytes_max(1_000);
        let name = |number: u64| Symbol::new(&format!("said-here-{encoding}-{number}-{}", "n".repeat(100)));
        for number in 0..12 {
            pair.ends[0].send(2 * number);
            send_content(&mut pair.ends[0], Value::atom(name(number)));
            pair.ends[0].send(2 * number + 1);
        }
        pair.run_for(15_000);
        let [speaker, hearer] = &mut pair.ends;
        // What comes back leaves an empty place.
        let messages = hearer.arrived.iter().filter(|item| matches!(item, LinkItem::Message(_))).count();
        let (heard, unsendable) = (messages - 24, speaker.unsendable.len());
        assert!(heard > 2 && unsendable > 2 && heard + unsendable == 12, "{encoding}: {heard} {unsendable}");
        let plain: Vec<u64> = hearer.numbers().into_iter().filter(|number| *number < 24).collect();
        assert_eq!(plain, count_to(24), "{encoding}: all others arrive, in order");
        assert_eq!(hearer.errors, vec![LinkError::TooManyNames(1_000); unsendable], "{encoding}: each is tried once");
        assert_eq!((speaker.began, speaker.lost.len(), speaker.link.waiting()), (1, 0, 0), "{encoding}");
        // What was said before may be said again.
        hearer.arrived.clear();
        send_content(speaker, Value::atom(name(0)));
        pair.run_for(100);
        let said = |item: &LinkItem| {
            matches!(item, LinkItem::Message(message)
                if message.body.content.to_string().contains("away"))
        };
        assert!(pair.ends[1].arrived.iter().any(said), "{encoding}: {:?}", pair.ends[1].arrived);
    }
}

/// Each message that is refused for its names costs a connection: these become ever rarer, and come at once again when
/// the peer has said no new names for a while.
#[test]
fn repeated_refused_names_back_off() {
    const REFUSED: u64 = 30;
    let mut pair = LinkPair::new(13);
    pair.renamed = Some(("said-here", "said-away"));
    pair.ends[1].link.set_name_bytes_max(0);
    pair.run_for(100);
    let say = |pair: &mut LinkPair, number: u64| {
        send_content(&mut pair.ends[0], Value::atom(Symbol::new(&format!("said-here-and-refused-{number}"))));
    };
    (0..REFUSED).for_each(|number| say(&mut pair, number));
    pair.run_for(10_000);
    let refused = pair.ends[1].errors.len();
    assert!((5..15).contains(&refused), "{refused} connections in 10 s");
    pair.run_for(LINK_BACKOFF_MS_MAX * REFUSED);
    assert_eq!((pair.ends[1].errors.len(), pair.ends[0].unsendable.len()), (REFUSED as usize, REFUSED as usize));
    pair.run_for(LINK_UNREAD_FORGOTTEN_MS);
    say(&mut pair, REFUSED);
    pair.ends[0].send(0);
    pair.run_for(200);
    assert_eq!(pair.ends[1].numbers().last(), Some(&0), "one refusal after a while costs one short delay");
}

#[test]
fn excess_names_drop_their_news() {
    let mut pair = LinkPair::new(11);
    pair.renamed = Some(("told-here", "told-away"));
    pair.ends[1].link.set_name_bytes_max(0);
    let agent = Some(Aid::local("told-here-of-a-service"));
    let description = DfDescription { agent, ..DfDescription::default() };
    pair.ends[0].link.offer(&mut vec![LinkItem::News(Box::new(News::Service(Box::new(description))))]);
    pair.ends[0].send(0);
    // Agents that are only told of have names that are not kept.
    let agents = vec![("told-here-of-an-agent".into(), AgentKind::Native)];
    pair.ends[0].link.offer(&mut vec![LinkItem::News(Box::new(News::Agents(agents)))]);
    pair.run_for(1_000);
    let [speaker, hearer] = &pair.ends;
    assert_eq!((hearer.numbers(), hearer.errors.len(), speaker.link.waiting()), (vec![0], 1, 0));
    let told = |item: &LinkItem| {
        matches!(item, LinkItem::News(news) if matches!(&**news, News::Agents(agents)
            if agents[0].0.as_str() == "told-away-of-an-agent"))
    };
    assert!(hearer.arrived.iter().any(told), "{:?}", hearer.arrived);
}

/// The end that hears why its connection ended connects again, as for any other fault.
#[test]
fn refused_names_end_no_link() {
    let mut pair = LinkPair::new(12);
    pair.run_for(100);
    let refusal = LinkError::TooManyNames(7).refusal().expect("the peer hears why");
    let frame = LinkFrame::first(&refusal).unwrap().unwrap();
    let heard = pair.ends[0].link.handle_frame(pair.now, &frame, &mut Vec::new()).unwrap_err();
    assert!(heard.is_of_names() && !heard.is_refusal() && heard.to_string().contains("take 7 bytes"), "{heard}");
    assert!(LinkError::BadToken.is_refusal() && !LinkError::BadToken.is_of_names());
}

#[test]
fn each_end_names_its_encoding() {
    for encoding in Encoding::ALL {
        let mut pair = LinkPair::writing(8, encoding);
        for number in 0..100 {
            pair.ends[0].send(number);
            pair.ends[1].send(number);
        }
        pair.run_for(200);
        assert_eq!(pair.ends[0].numbers(), count_to(100), "{encoding}");
        assert_eq!(pair.ends[1].numbers(), count_to(100), "{encoding}");
    }
}

#[test]
fn second_claimant_is_refused() {
    for seed in 0..SEEDS {
        let mut contest = LinkContest::new(seed);
        contest.begin();
        contest.run_for(100);
        contest.begin();
        for number in 0..200 {
            contest.claimants[0].end.send(number);
            contest.host.send(number);
            contest.run_for(5);
        }
        contest.run_for(100);
        assert_eq!(contest.holder(), Some(0), "seed {seed}");
        assert!(
            matches!(&contest.claimants[1].refused, Some(LinkError::Refused { why, .. }) if why.contains("\"twin\" is taken"))
        );
        assert_eq!((contest.host.numbers(), contest.claimants[0].end.numbers()), (count_to(200), count_to(200)));
        assert_eq!((contest.host.began, contest.host.resumed, contest.host.lost.len()), (1, 0, 0), "seed {seed}");
    }
}

#[test]
fn dead_claimant_is_replaced_at_once() {
    for seed in 0..SEEDS {
        let mut contest = LinkContest::new(seed);
        contest.begin();
        contest.run_for(100);
        contest.kill(0);
        contest.begin();
        contest.run_for(50);
        assert_eq!(contest.holder(), Some(1), "seed {seed}");
    }
}

#[test]
fn silent_claimant_is_replaced() {
    for seed in 0..SEEDS {
        let mut contest = LinkContest::new(seed);
        contest.begin();
        contest.run_for(2_000 + seed * 20);
        contest.claimants[0].frozen = true;
        contest.begin();
        contest.run_for(LINK_CLAIM_MS + 100);
        assert_eq!(contest.holder(), Some(1), "seed {seed}");
        contest.claimants[0].frozen = false;
        contest.run_for(LINK_SILENCE_MS);
        assert!(contest.claimants[0].refused.is_some(), "seed {seed}");
        assert_eq!((contest.holder(), contest.host.began), (Some(1), 2), "seed {seed}");
    }
}

/// Processes of one name begin, break off, hang and die in any order: the name is one's at a time, and what arrived
/// stays arrived.
#[test]
fn contested_name_has_one_holder() {
    for seed in 0..4 * SEEDS {
        let mut random = Random::new(seed);
        let mut contest = LinkContest::new(seed);
        contest.begin();
        for number in 0..300 {
            match random.between(0..=40) {
                0 => drop(contest.begin()),
                1 => contest.cut(random.between(0..=contest.claimants.len() as u64 - 1) as usize),
                2 => contest.kill(random.between(0..=contest.claimants.len() as u64 - 1) as usize),
                3 => {
                    let any = random.between(0..=contest.claimants.len() as u64 - 1) as usize;
                    contest.claimants[any].frozen ^= true;
                }
                _ => {}
            }
            contest.claimants.iter_mut().for_each(|claimant| claimant.end.send(number));
            contest.host.send(number);
            contest.run_for(random.between(1..=200));
        }
        // In the end one is left, and has the name.
        (0..contest.claimants.len()).for_each(|number| contest.kill(number));
        let last = contest.begin();
        contest.run_for(LINK_SILENCE_MS + LINK_BACKOFF_MS_MAX);
        assert_eq!(contest.holder(), Some(last), "seed {seed}");
        let faults = |errors: &[LinkError]| {
            let is_fault = |error: &&LinkError| !error.is_refusal() && **error != LinkError::Silence;
            errors.iter().find(is_fault).cloned()
        };
        let ends = contest.claimants.iter().map(|claimant| &claimant.end).chain([&contest.host]);
        for end in ends {
            assert_eq!(faults(&end.errors), None, "seed {seed}");
        }
        for claimant in &contest.claimants {
            let numbers = claimant.end.numbers();
            assert!(numbers.is_sorted_by(|one, next| one < next), "seed {seed}: {numbers:?}");
        }
    }
}

/// A peer that lost the session to another process of this end's name begins anew, without stale numbers.
#[test]
fn peer_of_replaced_process_restarts() {
    for end in [0, 1] {
        let mut pair = LinkPair::new(11);
        (0..10).for_each(|number| pair.ends[end].send(number));
        pair.run_for(100);
        pair.exchange_process(end);
        pair.run_for(5_000);
        (20..25).for_each(|number| pair.ends[end].send(number));
        pair.exchange_process(end);
        pair.run_for(5_000);
        (10..20).for_each(|number| pair.ends[end].send(number));
        pair.run_for(5_000);
        let faults: Vec<&LinkError> = pair.ends.iter().flat_map(|end| &end.errors).collect();
        assert!(faults.is_empty(), "{faults:?}");
        assert_eq!(pair.ends[1 - end].numbers(), [(0..10).collect::<Vec<_>>(), (10..20).collect()].concat());
    }
}
