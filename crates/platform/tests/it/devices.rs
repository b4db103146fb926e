//! Devices are chosen as their compute units say, and shared work gets done whatever they do.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use proptest::prelude::*;
use whimbrel_acl::Symbol;
use whimbrel_platform::Time;
use whimbrel_platform::devices::{
    AnswerVerdict, Answered, Condition, Device, Fleet, FleetError, PartLease, Unfinished, Work, WorkTerms,
};
use whimbrel_platform::limits::{DEVICE_OVERDUE_MAX, DEVICE_UNITS_OVER_MEDIAN_MAX, DEVICE_WRONG_MAX};

fn device(name: &str, units: u32) -> Device {
    let condition = Condition { places: 2, ..Condition::default() };
    Device { agent: Symbol::new(name), units, condition }
}

fn fleet(devices: &[(&str, u32)]) -> Fleet {
    let mut fleet = Fleet::default();
    devices.iter().for_each(|(name, units)| fleet.join(device(name, *units)).expect("it may"));
    fleet
}

/// Returns a sequence of numbers, the same each time (splitmix64).
fn numbers(mut seed: u64) -> impl FnMut() -> u64 {
    move || {
        seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = seed;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

/// Returns how often each is chosen in this many placements, if each has room again at once.
fn shares(fleet: &mut Fleet, placements: u32) -> BTreeMap<String, f64> {
    let (mut random, mut chosen) = (numbers(7), BTreeMap::<String, u32>::new());
    for _ in 0..placements {
        let agent = fleet.choose(&mut random, &|_| true).expect("somebody has room");
        fleet.release(agent);
        *chosen.entry(agent.as_str().to_owned()).or_default() += 1;
    }
    chosen.into_iter().map(|(name, count)| (name, f64::from(count) / f64::from(placements))).collect()
}

#[track_caller]
fn check_shares(fleet: &mut Fleet, expected: &[(&str, f64)]) {
    let shares = shares(fleet, 10_000);
    assert_eq!(shares.len(), expected.len(), "{shares:?}");
    for (name, share) in expected {
        assert!((shares[*name] - share).abs() < 0.03, "{name}: {share} expected, {shares:?}");
    }
}

#[test]
fn devices_are_chosen_by_units() {
    let mut fleet = fleet(&[("one", 100), ("two", 200), ("four", 400), ("eight", 800)]);
    check_shares(&mut fleet, &[("one", 1.0 / 15.0), ("two", 2.0 / 15.0), ("four", 4.0 / 15.0), ("eight", 8.0 / 15.0)]);
    // Another attribute is looked at.
    let hidden = Condition { visible: false, ..device("eight", 1).condition };
    fleet.join(Device { condition: hidden, ..device("eight", 800) }).expect("it is there already");
    check_shares(&mut fleet, &[("one", 0.125), ("two", 0.25), ("four", 0.5), ("eight", 0.125)]);
    assert!(fleet.leave(Symbol::new("four")) && !fleet.leave(Symbol::new("four")));
    fleet.join(device("three", 300)).expect("it may");
    check_shares(&mut fleet, &[("one", 1.0 / 7.0), ("two", 2.0 / 7.0), ("three", 3.0 / 7.0), ("eight", 1.0 / 7.0)]);
    assert_eq!(fleet.join(device("none", 0)), Err(FleetError::Units(0)));
}

#[test]
fn full_device_is_not_chosen() {
    let (mut fleet, mut random) = (fleet(&[("big", 1_000_000), ("small", 1)]), numbers(1));
    let chosen: Vec<Symbol> = (0..4).filter_map(|_| fleet.choose(&mut random, &|_| true)).collect();
    let count = |name: &str| chosen.iter().filter(|agent| agent.as_str() == name).count();
    assert_eq!((count("big"), count("small"), fleet.units_free()), (2, 2, 0));
    assert_eq!(fleet.choose(&mut random, &|_| true), None);
    fleet.release(Symbol::new("small"));
    assert_eq!(fleet.choose(&mut random, &|_| true), Some(Symbol::new("small")));
}

#[test]
fn suitable_device_is_found_among_many() {
    let (mut fleet, mut random) = (Fleet::default(), numbers(3));
    (0..1_000).for_each(|at| fleet.join(device(&format!("d{at}"), 1_000)).expect("it may"));
    let wanted = Symbol::new("d777");
    assert_eq!(fleet.choose(&mut random, &|agent| agent == wanted), Some(wanted));
}

const AT_ONCE: Duration = Duration::from_secs(1);
const TERMS: WorkTerms =
    WorkTerms { lease: Duration::from_secs(10), agreeing: 1, attempts_max: 4, dawdling: 3, within: None };

fn leases<A: PartialEq>(work: &mut Work<A>, now: Time, fleet: &mut Fleet) -> Vec<PartLease> {
    let mut random = numbers(5);
    std::iter::from_fn(|| work.poll_lease(now, fleet, &mut random, &|_| true)).collect()
}

#[test]
fn overdue_part_is_lent_again() {
    let (mut fleet, mut work) = (fleet(&[("slow", 1)]), Work::default());
    let part = work.add(Time::ZERO, TERMS);
    let first = leases(&mut work, Time::ZERO, &mut fleet);
    assert_eq!(first, [PartLease { part, device: Symbol::new("slow"), until: Time::from_ms(10_000) }]);
    fleet.join(device("quick", 1)).expect("it may");
    assert_eq!(leases(&mut work, Time::from_ms(9_000), &mut fleet), [], "its time is not over");
    assert_eq!(work.poll_timeout(), Time::from_ms(10_000));
    work.handle_timeout(Time::from_ms(10_000), &mut fleet);
    let now = Time::from_ms(10_000);
    let again = leases(&mut work, now, &mut fleet);
    assert_eq!(again.iter().map(|lease| lease.device.as_str()).collect::<Vec<_>>(), ["quick"], "rather another one");
    // The first one is late, and yet the first.
    assert_eq!(work.handle_answer(now, Symbol::new("slow"), part, 42, &mut fleet), AnswerVerdict::Done);
    assert_eq!(work.handle_answer(now, Symbol::new("quick"), part, 43, &mut fleet), AnswerVerdict::Late);
    let by = vec![Symbol::new("slow")];
    assert_eq!((work.poll_outcome(), work.poll_outcome()), (Some((part, Ok(Answered { answer: 42, by }))), None));
    assert_eq!((fleet.taken(Symbol::new("slow")), fleet.taken(Symbol::new("quick"))), (0, 0));
}

#[test]
fn dawdling_part_is_lent_twice() {
    let (mut fleet, mut work) = (fleet(&[("one", 1), ("other", 1)]), Work::default());
    let parts: Vec<u64> = (0..4).map(|_| work.add(Time::ZERO, TERMS)).collect();
    assert_eq!(parts, [0, 1, 2, 3]);
    let all = leases(&mut work, Time::ZERO, &mut fleet);
    let now = Time::ZERO + AT_ONCE;
    let (last, done) = all.split_last().expect("they are four");
    for lease in done {
        assert_eq!(work.handle_answer(now, lease.device, lease.part, 0, &mut fleet), AnswerVerdict::Done);
    }
    assert_eq!(leases(&mut work, now + AT_ONCE, &mut fleet), []);
    assert_eq!(work.poll_dawdling(now + AT_ONCE), Some(Time::from_ms(3_000)));
    let again = leases(&mut work, Time::from_ms(3_000), &mut fleet);
    assert_eq!(again.iter().map(|lease| lease.part).collect::<Vec<_>>(), [last.part]);
    assert_ne!(again[0].device, last.device);
    assert_eq!(
        work.poll_dawdling(Time::from_ms(3_000)),
        None,
        "nothing that could be done later could not be done now"
    );
    assert_eq!(work.handle_answer(now, again[0].device, last.part, 0, &mut fleet), AnswerVerdict::Done);
    assert_eq!((work.unfinished(), work.lent(), fleet.taken(last.device)), (0, 0, 0));
}

#[test]
fn lying_device_is_outvoted_and_shunned() {
    let (mut fleet, mut work) = (fleet(&[("liar", 1), ("a", 1), ("b", 1)]), Work::default());
    let liar = Symbol::new("liar");
    for _ in 0..DEVICE_WRONG_MAX {
        let part = work.add(Time::ZERO, WorkTerms { agreeing: 2, ..TERMS });
        while work.unfinished() > 0 {
            for lease in leases(&mut work, Time::ZERO, &mut fleet) {
                let answer = if lease.device == liar { 666 } else { 42 };
                work.handle_answer(Time::ZERO, lease.device, part, answer, &mut fleet);
            }
        }
        // If the liar was not asked about it, it got away this time.
        let outcome = work.poll_outcome().map(|(part, answered)| (part, answered.map(|answered| answered.answer)));
        assert_eq!(outcome, Some((part, Ok(42))));
    }
    let mut asked = 0;
    for _ in 0..100 {
        let part = work.add(Time::ZERO, WorkTerms { agreeing: 2, ..TERMS });
        while work.unfinished() > 0 {
            for lease in leases(&mut work, Time::ZERO, &mut fleet) {
                asked += u32::from(lease.device == liar);
                let answer = if lease.device == liar { 666 } else { 42 };
                work.handle_answer(Time::ZERO, lease.device, part, answer, &mut fleet);
            }
        }
    }
    assert!(asked <= DEVICE_WRONG_MAX, "it was asked {asked} times more");
}

#[test]
fn device_answers_once() {
    let (mut fleet, mut work) = (fleet(&[("one", 1)]), Work::default());
    let (one, other) = (Symbol::new("one"), Symbol::new("other"));
    let part = work.add(Time::ZERO, WorkTerms { agreeing: 2, ..TERMS });
    assert_eq!(leases(&mut work, Time::ZERO, &mut fleet).len(), 1);
    work.handle_answer(Time::ZERO, one, part, 42, &mut fleet);
    assert_eq!(leases(&mut work, Time::ZERO, &mut fleet), [], "its answer is there");
    assert_eq!(work.handle_answer(Time::ZERO, one, part, 42, &mut fleet), AnswerVerdict::Unasked);
    fleet.join(device("other", 1)).expect("it may");
    assert_eq!(leases(&mut work, Time::ZERO, &mut fleet).len(), 1);
    assert_eq!(work.handle_answer(Time::ZERO, other, part, 42, &mut fleet), AnswerVerdict::Done);
}

#[test]
fn unreliable_device_gets_no_work() {
    let (mut fleet, mut work) = (fleet(&[("dead", 1)]), Work::<u8>::default());
    work.add(Time::ZERO, WorkTerms { attempts_max: 100, ..TERMS });
    for _ in 0..DEVICE_OVERDUE_MAX {
        let now = work.poll_timeout();
        let now = if now == Time::NEVER { Time::ZERO } else { now };
        work.handle_timeout(now, &mut fleet);
        leases(&mut work, now, &mut fleet);
    }
    work.handle_timeout(work.poll_timeout(), &mut fleet);
    assert_eq!((fleet.units_free(), leases(&mut work, Time::ZERO, &mut fleet)), (0, vec![]));
}

#[test]
fn impossible_part_is_given_up() {
    let names: Vec<String> = (0..5).map(|at| format!("d{at}")).collect();
    let mut fleet = fleet(&names.iter().map(|name| (name.as_str(), 1)).collect::<Vec<_>>());
    let mut work = Work::<u8>::default();
    let part = work.add(Time::ZERO, TERMS);
    for _ in 0..TERMS.attempts_max {
        for lease in leases(&mut work, Time::ZERO, &mut fleet) {
            work.handle_failure(lease.device, lease.part, &mut fleet);
        }
    }
    assert_eq!(work.poll_outcome(), Some((part, Err(Unfinished::Attempts(4)))));
    assert_eq!(work.handle_answer(Time::ZERO, Symbol::new("d0"), part, 1, &mut fleet), AnswerVerdict::Late);
    assert_eq!(work.handle_answer(Time::ZERO, Symbol::new("d0"), part + 1, 1, &mut fleet), AnswerVerdict::Unasked);
}

#[test]
fn unoffered_part_is_given_up() {
    let (mut fleet, mut work) = (fleet(&[("dead", 1)]), Work::<u8>::default());
    let within = |ms| WorkTerms { within: Some(Duration::from_millis(ms)), ..TERMS };
    let kept = work.add(Time::ZERO, within(6_000));
    assert_eq!(work.poll_lease(Time::ZERO, &mut fleet, &mut numbers(1), &|_| true).map(|lease| lease.part), Some(kept));
    let nobodys = work.add(Time::ZERO, within(5_000));
    assert_eq!(work.poll_lease(Time::ZERO, &mut fleet, &mut numbers(1), &|_| false), None);
    assert!(work.poll_timeout() <= Time::from_ms(5_000));
    work.handle_timeout(Time::from_ms(4_999), &mut fleet);
    assert_eq!(work.poll_outcome(), None);
    work.handle_timeout(Time::from_ms(6_000), &mut fleet);
    assert_eq!(work.poll_outcome(), Some((nobodys, Err(Unfinished::Time(0)))));
    assert_eq!(work.poll_outcome(), Some((kept, Err(Unfinished::Time(1)))));
    assert_eq!((work.unfinished(), work.lent(), work.poll_timeout()), (0, 0, Time::NEVER));
    assert_eq!(work.handle_answer(Time::from_ms(6_001), Symbol::new("dead"), kept, 1, &mut fleet), AnswerVerdict::Late);
    // A part that is done in time is not given up later.
    let done = work.add(Time::ZERO, within(5_000));
    let lease = work.poll_lease(Time::ZERO, &mut fleet, &mut numbers(1), &|_| true).expect("it has room");
    assert_eq!(work.handle_answer(Time::ZERO, lease.device, done, 1, &mut fleet), AnswerVerdict::Done);
    assert_eq!(work.poll_timeout(), Time::NEVER);
}

#[test]
fn failed_device_is_asked_again_last() {
    let (mut fleet, mut work) = (fleet(&[("only", 1)]), Work::<u8>::default());
    let part = work.add(Time::ZERO, TERMS);
    for _ in 0..TERMS.attempts_max {
        for lease in leases(&mut work, Time::ZERO, &mut fleet) {
            work.handle_failure(lease.device, lease.part, &mut fleet);
        }
    }
    assert_eq!(work.poll_outcome(), Some((part, Err(Unfinished::Attempts(TERMS.attempts_max)))));
}

#[test]
fn leaving_device_keeps_its_record() {
    let (mut fleet, mut work) = (fleet(&[("a", 1), ("b", 1)]), Work::default());
    let (fickle, terms) = (Symbol::new("fickle"), WorkTerms { agreeing: 2, ..TERMS });
    let part = work.add(Time::ZERO, terms);
    for _ in 0..10 * TERMS.attempts_max {
        fleet.join(device("fickle", 1_000_000)).expect("it may");
        leases(&mut work, Time::ZERO, &mut fleet);
        assert!(fleet.leave(fickle));
        work.handle_gone(fickle, &mut fleet);
    }
    assert_eq!((work.poll_outcome(), work.unfinished()), (None, 1));
    for name in ["a", "b"] {
        leases(&mut work, Time::ZERO, &mut fleet);
        work.handle_answer(Time::ZERO, Symbol::new(name), part, 1, &mut fleet);
    }
    assert!(matches!(work.poll_outcome(), Some((_, Ok(Answered { answer: 1, .. })))));
    // It is wrong as often as allowed; then leaving and coming back does not help.
    for _ in 0..DEVICE_WRONG_MAX {
        fleet.join(device("fickle", 1_000_000_000)).expect("it may");
        let part = work.add(Time::ZERO, terms);
        while work.unfinished() > 0 {
            for lease in leases(&mut work, Time::ZERO, &mut fleet) {
                let answer = if lease.device == fickle { 666 } else { 42 };
                work.handle_answer(Time::ZERO, lease.device, part, answer, &mut fleet);
            }
        }
        assert!(fleet.leave(fickle));
        work.handle_gone(fickle, &mut fleet);
    }
    fleet.join(device("fickle", 1_000_000_000)).expect("it may");
    assert_eq!(fleet.units_free(), 2, "those of the others");
}

#[test]
fn blocked_parts_delay_no_others() {
    let (mut fleet, mut work) = (fleet(&[("picky", 1), ("away", 1)]), Work::default());
    let away = Symbol::new("away");
    let parts: Vec<u64> = (0..100).map(|_| work.add(Time::ZERO, TERMS)).collect();
    assert_eq!(parts.len(), 100);
    // The other one has all its places taken.
    let first = leases(&mut work, Time::ZERO, &mut fleet);
    let (held, mut mine): (Vec<PartLease>, Vec<PartLease>) = first.into_iter().partition(|lease| lease.device == away);
    assert_eq!((held.len(), mine.len()), (2, 2));
    let (mut done, mut now) = (BTreeSet::new(), Time::ZERO);
    for _ in 0..10_000 {
        mine.extend(leases(&mut work, now, &mut fleet));
        let Some(lease) = mine.pop() else {
            let at = work.poll_timeout();
            if at == Time::NEVER || at >= Time::from_ms(9_000) {
                break;
            }
            now = at;
            continue;
        };
        if lease.part < 75 {
            work.handle_failure(lease.device, lease.part, &mut fleet);
        } else {
            work.handle_answer(now, lease.device, lease.part, 1, &mut fleet);
            done.insert(lease.part);
        }
    }
    let held = held.iter().filter(|lease| lease.part >= 75).count();
    assert_eq!(done.len() + held, 25, "{done:?}");
}

/// Event of work.
#[derive(Clone, Debug)]
enum WorkInput {
    Add,
    Join(u8),
    Leave(u8),
    /// Loan of this index that comes back: right, wrong or not at all.
    Answer(usize, bool),
    Fail(usize),
    /// Part that its customer does not want any more.
    Withdraw(u64),
    Pass(u16),
}

fn input() -> impl Strategy<Value = WorkInput> {
    prop_oneof![
        Just(WorkInput::Add),
        (0u8..6).prop_map(WorkInput::Join),
        (0u8..6).prop_map(WorkInput::Leave),
        (any::<usize>(), prop::bool::weighted(0.8)).prop_map(|(at, right)| WorkInput::Answer(at, right)),
        any::<usize>().prop_map(WorkInput::Fail),
        (0u64..20).prop_map(WorkInput::Withdraw),
        (0u16..20_000).prop_map(WorkInput::Pass),
    ]
}

struct WorkModel {
    fleet: Fleet,
    work: Work<u64>,
    now: Time,
    /// Every lease that there ever was.
    lent: Vec<PartLease>,
    answered: BTreeSet<(u64, Symbol)>,
    done: BTreeSet<u64>,
}

impl WorkModel {
    fn take(&mut self, input: WorkInput) {
        let name = |at: u8| format!("m{at}");
        match input {
            WorkInput::Add => {
                let within = self.lent.len().is_multiple_of(3).then_some(Duration::from_secs(30));
                self.work.add(self.now, WorkTerms { agreeing: 2, attempts_max: 6, within, ..TERMS });
            }
            WorkInput::Join(at) => self.fleet.join(device(&name(at), u32::from(at) + 1)).expect("it may"),
            WorkInput::Leave(at) => {
                let agent = Symbol::new(&name(at));
                if self.fleet.leave(agent) {
                    self.work.handle_gone(agent, &mut self.fleet);
                }
            }
            WorkInput::Answer(at, right) if !self.lent.is_empty() => {
                let PartLease { part, device, .. } = self.lent[at % self.lent.len()];
                let answer = if right { part } else { u64::MAX - part };
                let verdict = self.work.handle_answer(self.now, device, part, answer, &mut self.fleet);
                if matches!(verdict, AnswerVerdict::Taken | AnswerVerdict::Done) {
                    assert!(self.answered.insert((part, device)), "{device:?} has two votes on {part}");
                }
            }
            WorkInput::Fail(at) if !self.lent.is_empty() => {
                let PartLease { part, device, .. } = self.lent[at % self.lent.len()];
                self.work.handle_failure(device, part, &mut self.fleet);
            }
            WorkInput::Withdraw(part) => self.work.withdraw(part, &mut self.fleet),
            WorkInput::Pass(ms) => {
                self.now = self.now + Duration::from_millis(u64::from(ms));
                self.work.handle_timeout(self.now, &mut self.fleet);
            }
            WorkInput::Answer(..) | WorkInput::Fail(_) => {}
        }
        self.lent.extend(leases(&mut self.work, self.now, &mut self.fleet));
        while let Some((part, answer)) = self.work.poll_outcome() {
            assert!(self.done.insert(part), "{part} is done twice");
            let voters = self.answered.iter().filter(|(of, _)| *of == part).count();
            assert!(answer.is_err() || voters >= 2, "{part} is believed of one alone");
        }
    }

    fn taken(&self) -> usize {
        self.fleet.devices().map(|device| self.fleet.taken(device.agent) as usize).sum()
    }
}

proptest! {
    #[test]
    fn each_part_ends_once(inputs in prop::collection::vec(input(), 1..120)) {
        let work = Work::default();
        let (fleet, now) = (Fleet::default(), Time::ZERO);
        let mut model = WorkModel { fleet, work, now, lent: vec![], answered: BTreeSet::new(), done: BTreeSet::new() };
        for input in inputs {
            model.take(input);
            prop_assert_eq!(model.taken(), model.work.lent(), "what devices have is what is lent");
        }
        // Honest newcomers without end finish everything.
        for round in 0..200u32 {
            let Some(name) = (model.work.unfinished() > 0).then(|| format!("new{round}")) else { break };
            model.fleet.join(device(&name, 10)).expect("it may");
            model.take(WorkInput::Pass(10_000));
            let is_own = |lease: &&PartLease| lease.device.as_str() == name;
            let newest: Vec<PartLease> = model.lent.iter().filter(is_own).copied().collect();
            for lease in newest {
                let at = model.lent.iter().position(|other| *other == lease).unwrap_or_default();
                model.take(WorkInput::Answer(at, true));
            }
        }
        prop_assert_eq!(model.work.unfinished(), 0);
    }
}

#[test]
fn claim_is_bounded_by_others() {
    let mut fleet = fleet(&[("a", 100), ("b", 90), ("c", 110), ("volunteer", 1_000_000_000)]);
    let most = 110 * DEVICE_UNITS_OVER_MEDIAN_MAX;
    let counted = fleet.units("volunteer".into()).unwrap();
    assert!(counted <= most && counted > most / 2, "{counted}");
    let shares = shares(&mut fleet, 10_000);
    assert!(shares["volunteer"] < 0.95 && shares["a"] > 0.01, "{shares:?}");
    assert_eq!(fleet.units("a".into()), Some(100));
    // Among many with high claims, a high claim is no longer high.
    for n in 0..4 {
        fleet.join(device(&format!("server{n}"), 900_000_000)).unwrap();
    }
    assert_eq!(fleet.units("volunteer".into()), Some(1_000_000_000));
    (0..4).for_each(|n| assert!(fleet.leave(Symbol::new(&format!("server{n}")))));
    assert_eq!(fleet.units("volunteer".into()), Some(counted));
}

#[test]
fn claim_is_bounded_by_results() {
    let mut fleet = fleet(&[("boaster", 1_000), ("a", 100), ("b", 100), ("fast", 400)]);
    let mut work = Work::<u8>::default();
    let mut now = Time::ZERO;
    // All take as long as their compute units say, except one, which is no faster than those with the fewest.
    for _ in 0..40 {
        for _ in 0..8 {
            work.add(now, WorkTerms::default());
        }
        let mut out = leases(&mut work, now, &mut fleet);
        let took = |lease: &PartLease| if lease.device.as_str() == "fast" { 1_000 } else { 4_000 };
        out.sort_by_key(took);
        for lease in out {
            let at = now + Duration::from_millis(took(&lease));
            work.handle_answer(at, lease.device, lease.part, 1, &mut fleet);
        }
        now = now + Duration::from_secs(10);
    }
    let counted = |name: &str| fleet.units(name.into()).unwrap();
    assert_eq!((counted("a"), counted("b"), counted("fast")), (100, 100, 400));
    let boaster = f64::from(counted("boaster"));
    assert!((190.0..=210.0).contains(&boaster), "{boaster}: what it shows, and as much again");
    // A part that is over at once tells nothing.
    for _ in 0..40 {
        work.add(now, WorkTerms::default());
        for lease in leases(&mut work, now, &mut fleet) {
            work.handle_answer(now + Duration::from_millis(20), lease.device, lease.part, 1, &mut fleet);
        }
    }
    assert!((f64::from(fleet.units("boaster".into()).unwrap()) - boaster).abs() < 1.0);
}
