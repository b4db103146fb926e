//! A job's parts, shared out among devices that may go, dawdle or lie.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use rustc_hash::FxHashMap;
use whimbrel_acl::Symbol;

use super::fleet::Fleet;
use crate::Time;
use crate::limits::{DEVICE_OVERDUE_MAX, DEVICE_WRONG_MAX, WORK_DAWDLES_MS_MIN, WORK_LOOKAHEAD, WORK_TIMES_KEPT};

/// A part, by its number: 0, 1, 2 ... as they were added.
pub type Part = u64;

/// How work is shared out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// How long a device has for a part, before it is lent to another one.
    pub lease: Duration,
    /// How many devices must have said the same, each asked apart, before it is believed. What a trusted one says is believed at once.
    pub agreeing: u32,
    /// How often a part is lent at most.
    pub attempts_max: u32,
    /// When nothing else is left to do, a part that has been out for so many times what parts take is lent once more: who is first, counts.
    pub dawdling: u32,
}

impl Default for Terms {
    fn default() -> Self {
        Self { lease: Duration::from_secs(60), agreeing: 1, attempts_max: 8, dawdling: 3 }
    }
}

/// A part that a device is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The part.
    pub part: Part,
    /// Who is to do it.
    pub device: Symbol,
    /// Until when it is not lent again.
    pub until: Time,
}

/// What became of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It counts; others are still asked.
    Taken,
    /// With it the part is done.
    Done,
    /// The part was done already, or given up.
    Late,
    /// This device was not asked that, or said something already.
    Unasked,
}

/// Why a part has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfinished {
    /// It was lent as often as may be.
    #[error("it was lent {0} times, and not enough answers agree")]
    Attempts(u32),
}

/// What became of a part: its answer.
pub type Outcome<A> = (Part, Result<A, Unfinished>);

#[derive(Debug)]
struct Loan {
    device: Symbol,
    since: Time,
    until: Time,
}

#[derive(Debug)]
struct Open<A> {
    loans: Vec<Loan>,
    answers: Vec<(Symbol, A)>,
    /// Who had it and did not bring it back in time: their answers still count, and they are asked again if nobody else has room.
    overdue: Vec<Symbol>,
    /// Who cannot do it.
    failed: Vec<Symbol>,
    attempts: u32,
    waits: bool,
}

impl<A: PartialEq> Open<A> {
    fn new() -> Self {
        Self {
            loans: Vec::new(),
            answers: Vec::new(),
            overdue: Vec::new(),
            failed: Vec::new(),
            attempts: 0,
            waits: true,
        }
    }

    fn is_lent_to(&self, device: Symbol) -> bool {
        self.loans.iter().any(|loan| loan.device == device)
    }

    fn has_answer_of(&self, device: Symbol) -> bool {
        self.answers.iter().any(|(who, _)| *who == device)
    }

    fn may_be_lent_to(&self, device: Symbol) -> bool {
        !self.is_lent_to(device) && !self.has_answer_of(device) && !self.failed.contains(&device)
    }

    /// Who is to do it: rather one that did not have it before.
    fn choose(&self, fleet: &mut Fleet, random: &mut dyn FnMut() -> u64) -> Option<Symbol> {
        let new = |device: Symbol| self.may_be_lent_to(device) && !self.overdue.contains(&device);
        let chosen = fleet.choose(random, &new);
        if self.overdue.is_empty() {
            chosen
        } else {
            chosen.or_else(|| fleet.choose(random, &|device| self.may_be_lent_to(device)))
        }
    }

    fn agreeing(&self, answer: &A) -> usize {
        self.answers.iter().filter(|(_, other)| other == answer).count()
    }

    /// How many more devices are to be asked, if those that are being asked say what most say.
    fn lacking(&self, terms: &Terms) -> usize {
        let most = self.answers.iter().map(|(_, answer)| self.agreeing(answer)).max().unwrap_or_default();
        (terms.agreeing as usize).saturating_sub(most + self.loans.len())
    }
}

#[derive(Debug, Default)]
struct Record {
    wrong: u32,
    overdue_in_a_row: u32,
}

/// See the module. A state machine: time comes in, the [`Fleet`] has the devices, and who sends what to whom is the caller's affair.
///
/// Inputs: [`Work::add`], [`Work::handle_answer`], [`Work::handle_failure`], [`Work::handle_gone`], [`Work::handle_timeout`] (at
/// [`Work::poll_timeout`]). Outputs, to be asked for after each: [`Work::poll_lease`] until there is none, [`Work::poll_outcome`] until there
/// is none.
#[derive(Debug)]
pub struct Work<A> {
    terms: Terms,
    open: FxHashMap<Part, Open<A>>,
    added: Part,
    /// Parts to be lent.
    waiting: VecDeque<Part>,
    /// When loans end.
    ends: BTreeSet<(Time, Part, Symbol)>,
    /// Loans by when they began, for those that dawdle.
    begun: BTreeSet<(Time, Part, Symbol)>,
    records: FxHashMap<Symbol, Record>,
    /// How long the newest answers took.
    times: VecDeque<Duration>,
    outcomes: VecDeque<Outcome<A>>,
}

impl<A: PartialEq> Work<A> {
    /// None yet.
    pub fn new(terms: Terms) -> Self {
        let terms = Terms {
            agreeing: terms.agreeing.max(1),
            attempts_max: terms.attempts_max.max(terms.agreeing.max(1)),
            ..terms
        };
        Self {
            terms,
            open: FxHashMap::default(),
            added: 0,
            waiting: VecDeque::new(),
            ends: BTreeSet::new(),
            begun: BTreeSet::new(),
            records: FxHashMap::default(),
            times: VecDeque::new(),
            outcomes: VecDeque::new(),
        }
    }

    /// One more part. Its number.
    pub fn add(&mut self) -> Part {
        let part = self.added;
        self.added += 1;
        self.open.insert(part, Open::new());
        self.waiting.push_back(part);
        part
    }

    /// Parts that have no outcome yet.
    pub fn unfinished(&self) -> usize {
        self.open.len()
    }

    /// Parts that are lent now, each as often as it is.
    pub fn lent(&self) -> usize {
        self.begun.len()
    }

    /// The next part to be given to a device.
    pub fn poll_lease(&mut self, now: Time, fleet: &mut Fleet, random: &mut dyn FnMut() -> u64) -> Option<Lease> {
        // A part that nobody suits who has room must not keep others from being lent.
        for _ in 0..self.waiting.len().min(WORK_LOOKAHEAD) {
            if fleet.units_free() == 0 {
                return None;
            }
            let part = self.waiting.pop_front()?;
            let Some(open) = self.open.get(&part) else { continue };
            match open.choose(fleet, random) {
                Some(device) => return Some(self.lend(now, part, device)),
                None => self.waiting.push_back(part),
            }
        }
        self.lend_again(now, fleet, random)
    }

    /// One that dawdles, given to somebody else as well.
    fn lend_again(&mut self, now: Time, fleet: &mut Fleet, random: &mut dyn FnMut() -> u64) -> Option<Lease> {
        let before = now.0.checked_sub(u64::try_from(self.dawdles_after()?.as_micros()).ok()?)?;
        if fleet.units_free() == 0 {
            return None;
        }
        let dawdling = self
            .begun
            .iter()
            .take_while(|(since, ..)| since.0 <= before)
            .map(|(_, part, _)| *part)
            .take(WORK_LOOKAHEAD);
        for part in dawdling.collect::<Vec<_>>() {
            let Some(open) = self.open.get(&part) else { continue };
            let is_doubled =
                open.loans.len() > self.terms.agreeing as usize || open.attempts >= self.terms.attempts_max;
            let device = if is_doubled { None } else { open.choose(fleet, random) };
            if let Some(device) = device {
                return Some(self.lend(now, part, device));
            }
        }
        None
    }

    /// After how long a part dawdles, once it is known how long they take.
    fn dawdles_after(&self) -> Option<Duration> {
        let mut times: Vec<Duration> = self.times.iter().copied().collect();
        times.sort_unstable();
        let least = Duration::from_millis(WORK_DAWDLES_MS_MIN);
        times.get(times.len() / 2).map(|median| median.saturating_mul(self.terms.dawdling).max(least))
    }

    fn lend(&mut self, now: Time, part: Part, device: Symbol) -> Lease {
        let until = now + self.terms.lease;
        self.ends.insert((until, part, device));
        self.begun.insert((now, part, device));
        if let Some(open) = self.open.get_mut(&part) {
            open.loans.push(Loan { device, since: now, until });
            open.attempts += 1;
            open.waits = false;
        }
        self.queue(part);
        Lease { part, device, until }
    }

    /// Has the part be lent as often as is lacking; gives it up if it was lent too often.
    fn queue(&mut self, part: Part) {
        let Some(open) = self.open.get_mut(&part) else { return };
        if open.waits || open.lacking(&self.terms) == 0 {
            return;
        }
        if open.attempts < self.terms.attempts_max {
            open.waits = true;
            self.waiting.push_back(part);
        } else if open.loans.is_empty() {
            let attempts = open.attempts;
            self.open.remove(&part);
            self.outcomes.push_back((part, Err(Unfinished::Attempts(attempts))));
        }
    }

    /// A device says what the part's answer is.
    pub fn handle_answer(&mut self, now: Time, device: Symbol, part: Part, answer: A, fleet: &mut Fleet) -> Verdict {
        let Some(open) = self.open.get(&part) else {
            return if part < self.added { Verdict::Late } else { Verdict::Unasked };
        };
        if open.has_answer_of(device) || !(open.is_lent_to(device) || open.overdue.contains(&device)) {
            return Verdict::Unasked;
        }
        if let Some(since) = self.take_back(part, device, fleet) {
            self.times.push_back(now - since);
            let extra = self.times.len().saturating_sub(WORK_TIMES_KEPT);
            self.times.drain(..extra);
        }
        self.records.entry(device).or_default().overdue_in_a_row = 0;
        let is_trusted = fleet.device(device).is_some_and(|device| device.trusted);
        let Some(open) = self.open.get_mut(&part) else { return Verdict::Late };
        open.answers.push((device, answer));
        let agreeing = open.answers.last().map_or(0, |(_, answer)| open.agreeing(answer));
        if is_trusted || agreeing >= self.terms.agreeing as usize {
            self.finish(part, fleet);
            return Verdict::Done;
        }
        self.queue(part);
        Verdict::Taken
    }

    /// The newest answer is the right one.
    fn finish(&mut self, part: Part, fleet: &mut Fleet) {
        let Some(mut open) = self.open.remove(&part) else { return };
        for loan in open.loans {
            self.forget(part, &loan);
            fleet.release(loan.device);
        }
        let Some((_, right)) = open.answers.pop() else { return };
        for (device, _) in open.answers.iter().filter(|(_, answer)| *answer != right) {
            let record = self.records.entry(*device).or_default();
            record.wrong += 1;
            if record.wrong >= DEVICE_WRONG_MAX {
                fleet.shun(*device);
            }
        }
        self.outcomes.push_back((part, Ok(right)));
    }

    /// A device cannot do the part.
    pub fn handle_failure(&mut self, device: Symbol, part: Part, fleet: &mut Fleet) {
        if self.take_back(part, device, fleet).is_some() {
            if let Some(open) = self.open.get_mut(&part) {
                open.failed.push(device);
            }
            self.queue(part);
        }
    }

    /// A device is gone, and out of the fleet: what it had is lent again.
    pub fn handle_gone(&mut self, device: Symbol, fleet: &mut Fleet) {
        let had: Vec<Part> = self.begun.iter().filter(|(_, _, who)| *who == device).map(|(_, part, _)| *part).collect();
        for part in had {
            self.take_back(part, device, fleet);
            self.queue(part);
        }
        // Who comes back under its name has its record still, if that is a bad one.
        if self.records.get(&device).is_some_and(|record| record.wrong == 0) {
            self.records.remove(&device);
        }
    }

    /// Lends again what was not brought back in time.
    pub fn handle_timeout(&mut self, now: Time, fleet: &mut Fleet) {
        while let Some(&(until, part, device)) = self.ends.first().filter(|(until, ..)| *until <= now) {
            self.take_back(part, device, fleet);
            self.ends.remove(&(until, part, device));
            if let Some(open) = self.open.get_mut(&part) {
                open.overdue.push(device);
            }
            let record = self.records.entry(device).or_default();
            record.overdue_in_a_row += 1;
            if record.overdue_in_a_row >= DEVICE_OVERDUE_MAX {
                fleet.shun(device);
            }
            self.queue(part);
        }
    }

    /// When the time of a loan is over; [`Time::NEVER`] if there is none.
    pub fn poll_timeout(&self) -> Time {
        self.ends.first().map_or(Time::NEVER, |(until, ..)| *until)
    }

    /// When a part dawdles that could be lent once more, if devices have nothing else to do then.
    pub fn poll_dawdling(&self) -> Option<Time> {
        self.begun.first().map(|(since, ..)| *since).zip(self.dawdles_after()).map(|(since, after)| since + after)
    }

    /// What became of a part.
    pub fn poll_outcome(&mut self) -> Option<Outcome<A>> {
        self.outcomes.pop_front()
    }

    /// Ends a loan. When it began.
    fn take_back(&mut self, part: Part, device: Symbol, fleet: &mut Fleet) -> Option<Time> {
        let open = self.open.get_mut(&part)?;
        let at = open.loans.iter().position(|loan| loan.device == device)?;
        let loan = open.loans.swap_remove(at);
        self.forget(part, &loan);
        fleet.release(device);
        Some(loan.since)
    }

    fn forget(&mut self, part: Part, loan: &Loan) {
        self.ends.remove(&(loan.until, part, loan.device));
        self.begun.remove(&(loan.since, part, loan.device));
    }
}
