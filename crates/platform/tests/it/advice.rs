//! The advisor: its estimates follow the values that they are about.

use std::time::Duration;

use proptest::prelude::*;
use whimbrel_platform::advice::{
    Advice, Basis, DocumentJob, Explanation, LinkCost, MoveChoice, NodeCondition, Situation, Weight,
};

/// Returns the study's task.
fn study(pass: f64) -> DocumentJob {
    DocumentJob { pass: Some(pass), ..DocumentJob::with(60, 4_096) }
}

fn link(mbit: f64, round_trip_us: u64) -> Situation {
    let rate = Some(mbit * 125_000.0);
    let way = LinkCost {
        round_trip: Some(Duration::from_micros(round_trip_us)),
        out_bytes_per_s: rate,
        back_bytes_per_s: rate,
    };
    Situation { way, ..Situation::default() }
}

fn choice(job: &DocumentJob, situation: &Situation) -> MoveChoice {
    Advice::of(job, situation).choice
}

#[test]
fn slow_links_favour_going() {
    for (mbit, expected) in
        [(1.0, MoveChoice::Go), (10.0, MoveChoice::Go), (100.0, MoveChoice::Go), (10_000.0, MoveChoice::Ask)]
    {
        for pass in [0.05, 0.2] {
            assert_eq!(choice(&study(pass), &link(mbit, 500)), expected, "{mbit} Mbit/s, {pass}");
        }
    }
}

#[test]
fn heavy_agent_asks() {
    let slow = link(1.0, 1_000);
    assert_eq!(choice(&DocumentJob { state: Some(1 << 20), ..study(0.05) }, &slow), MoveChoice::Ask);
    assert_eq!(choice(&DocumentJob { code: Some(1 << 20), ..study(0.05) }, &slow), MoveChoice::Ask);
    assert_eq!(choice(&DocumentJob { packed: true, ..study(1.0) }, &slow), MoveChoice::Ask);
    assert_eq!(choice(&DocumentJob { pass: Some(0.05), ..DocumentJob::with(3, 200) }, &slow), MoveChoice::Ask);
    let picked = DocumentJob { picks: true, packed: true, ..study(0.05) };
    assert_eq!(choice(&picked, &slow), MoveChoice::Ask, "to ask for what passes is enough");
    let many = DocumentJob { requests: Some(60), ..picked };
    assert_eq!(choice(&many, &link(100.0, 20_000)), MoveChoice::Go, "a question for each document waits sixty times");
}

#[test]
fn busy_processor_favours_asking() {
    let job = DocumentJob { work_ns: Some(100.0), ..study(0.05) };
    let with = |load: f64| {
        let there = NodeCondition { cores: Some(2), load: Some(load), ..NodeCondition::default() };
        Situation { there, ..link(100.0, 500) }
    };
    assert_eq!((choice(&job, &with(0.5)), choice(&job, &with(30.0))), (MoveChoice::Go, MoveChoice::Ask));
    let slow = NodeCondition { speed: Some(10.0), ..NodeCondition::default() };
    let fast = NodeCondition { speed: Some(100.0), ..NodeCondition::default() };
    let from = |here, there| Situation { here, there, ..link(100.0, 500) };
    assert_eq!((choice(&job, &from(fast, slow)), choice(&job, &from(slow, fast))), (MoveChoice::Ask, MoveChoice::Go));
}

#[test]
fn further_peers_delay_moves() {
    let latency = |here, there| {
        let linked = |peers| NodeCondition { peers, ..NodeCondition::default() };
        let situation = Situation { here: linked(here), there: linked(there), ..link(100.0, 500) };
        Advice::of(&study(0.05), &situation).go.latency_s
    };
    assert!(latency(1, 1) < latency(2, 1), "further nodes are told before the agent continues");
    assert!(latency(2, 1) < latency(2, 2));
    assert!(latency(1, 2) < latency(2, 2));
}

#[test]
fn advice_names_basis_of_values() {
    let situation = Situation {
        agent: Weight { state: Some(300), code: Some(17_000) },
        there: NodeCondition { has_code: Some(false), ..NodeCondition::default() },
        ..link(10.0, 700)
    };
    let advice = Advice::of(&study(0.05), &situation);
    let basis = |what: &str| advice.known.iter().find(|known| known.what == what).map(|it| (it.basis, &*it.value));
    assert_eq!(basis("state of the agent"), Some((Basis::Measured, "300 B")));
    assert_eq!(basis("code that it lacks there"), Some((Basis::Measured, "17 kB")));
    assert_eq!(basis("round trip"), Some((Basis::Measured, "700 us")));
    assert_eq!(basis("share that passes"), Some((Basis::Told, "5 %")));
    assert_eq!(basis("a hop itself"), Some((Basis::Assumed, "150 us")));
    let nothing = Advice::of(&study(0.05), &Situation::default());
    let way = ["round trip", "bandwidth there", "bandwidth back"];
    let assumed = |what: &str| nothing.known.iter().any(|it| it.what == what && it.basis == Basis::Assumed);
    assert!(way.into_iter().all(assumed), "{:?}", nothing.known);
    assert_eq!(Advice::choice_in(&advice.to_value()), Some(MoveChoice::Go));
}

#[test]
fn advice_is_explained() {
    let advice = Advice::of(&study(0.05), &link(10.0, 2_000));
    let text = Explanation(&advice).text();
    assert!(text.starts_with("go: 17 ms; asking would take 200 ms (12.1x)\n"), "{text}");
    assert_eq!(advice.why[0], "Asking has 246 kB on the way, the other 12 kB: 187 ms more.");
    assert!(advice.why.iter().any(|why| why.starts_with("From ") && why.ends_with(" on, asking would be faster.")));
}

fn jobs() -> impl Strategy<Value = DocumentJob> {
    let sizes = (0_u64..10_000, 0_u64..100_000, 0.0..=1.0, 0.0..=1.0);
    let travels = (0_u64..1 << 22, 0_u64..1 << 20, 1_u64..100, 0_u64..10_000, 1_u64..50);
    let kinds = (any::<bool>(), any::<bool>(), proptest::option::of(0.0..10.0), 0.0..100.0, 0.0..100.0);
    (sizes, travels, kinds).prop_map(|((documents, bytes, pass, packs_to), travels, kinds)| {
        let (state, code, requests, question, clients) = travels;
        let (picks, packed, per_second, work_ns, agent_work_ns) = kinds;
        DocumentJob {
            pass: Some(pass),
            packs_to: Some(packs_to),
            requests: Some(requests),
            question: Some(question),
            picks,
            packed,
            work_ns: Some(work_ns),
            agent_work_ns: Some(agent_work_ns),
            state: Some(state),
            code: Some(code),
            clients: Some(clients),
            per_second,
            ..DocumentJob::with(documents, bytes)
        }
    })
}

/// Returns the seconds by going and by asking.
fn times(job: &DocumentJob, situation: &Situation) -> (f64, f64) {
    let advice = Advice::of(job, situation);
    (advice.go.seconds(), advice.ask.seconds())
}

/// Returns true if the numbers are equal or ordered, except for rounding.
fn at_least(large: f64, small: f64) -> bool {
    large >= small * (1.0 - 1e-9)
}

proptest! {
    #[test]
    fn more_work_takes_more_time(job in jobs(), mbit in 0.01..1e4, round_trip_us in 1_u64..1_000_000) {
        let way = link(mbit, round_trip_us);
        let (go, ask) = times(&job, &way);
        prop_assert!(go.is_finite() && ask.is_finite() && go > 0.0 && ask >= 0.0, "{go} {ask}");
        let longer = |job: &DocumentJob, way: &Situation| {
            let (more_go, more_ask) = times(job, way);
            at_least(more_go, go) && at_least(more_ask, ask)
        };
        prop_assert!(longer(&job, &link(mbit / 2.0, round_trip_us)), "a slower link");
        prop_assert!(longer(&job, &link(mbit, round_trip_us * 2)), "a longer one");
        prop_assert!(longer(&DocumentJob { documents: job.documents + 1, ..job.clone() }, &way), "another document");
        prop_assert!(longer(&DocumentJob { clients: job.clients.map(|it| it + 1), ..job.clone() }, &way), "a client");
        prop_assert!(longer(&DocumentJob { state: job.state.map(|it| it + 1_000), ..job.clone() }, &way), "heavier");
    }

    /// The choice with fewer bytes on the way loses more by throughput.
    #[test]
    fn throughput_favours_more_bytes(job in jobs(), mbit in 0.01..1e4, round_trip_us in 1_u64..1_000_000) {
        let job = DocumentJob { clients: Some(1), ..job };
        let (slow, fast) = (Advice::of(&job, &link(mbit, round_trip_us)), Advice::of(&job, &link(mbit * 2.0, round_trip_us)));
        let bytes = |estimate: &whimbrel_platform::advice::Estimate| estimate.bytes_out + estimate.bytes_back;
        let heavier = if bytes(&slow.go) > bytes(&slow.ask) { MoveChoice::Go } else { MoveChoice::Ask };
        if slow.choice == heavier && slow.margin > 1.0 + 1e-9 {
            prop_assert_eq!(fast.choice, heavier);
        }
    }

    #[test]
    fn higher_pass_favours_asking(job in jobs(), mbit in 0.01..1e4, pass in 0.0..0.5) {
        let job = |pass| DocumentJob { pass: Some(pass), picks: false, ..job.clone() };
        let (few, many) = (times(&job(pass), &link(mbit, 500)), times(&job(pass * 2.0), &link(mbit, 500)));
        prop_assert!(at_least(many.0, few.0));
        prop_assert_eq!(many.1, few.1);
    }

    #[test]
    fn any_situation_gets_advice(
        job in jobs(),
        rate in proptest::option::of(any::<f64>()),
        speed in proptest::option::of(any::<f64>()),
        load in proptest::option::of(any::<f64>()),
        cores in proptest::option::of(any::<u32>()),
    ) {
        let condition = NodeCondition { speed, load, cores, sent_bytes_per_s: rate, ..NodeCondition::default() };
        let way = LinkCost { out_bytes_per_s: rate, ..LinkCost::default() };
        let situation = Situation { way, here: condition, there: condition, hop_s: rate, ..Situation::default() };
        let advice = Advice::of(&job, &situation);
        prop_assert!(advice.go.seconds() >= 0.0 && advice.ask.seconds() >= 0.0 && advice.margin >= 1.0, "{advice:?}");
        prop_assert!(!Explanation(&advice).text().is_empty());
    }
}
