//! Work: a job's parts, shared out among devices that may go, dawdle or lie.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use rustc_hash::FxHashMap;
use whimbrel_acl::Symbol;

use super::fleet::Fleet;
use crate::Time;
use crate::limits::{
    WORK_COSTS_KEPT, WORK_DAWDLES_MS_MIN, WORK_HOLDERS_KEPT, WORK_LOOKAHEAD, WORK_LOOKS_MS, WORK_TELLING_MS_MIN,
    WORK_TIMES_KEPT,
};

/// Part of work, by its number: 0, 1, 2 ... in the order in which parts were added.
pub type Part = u64;

/// Terms on which work is shared out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkTerms {
    /// Time that a device has for a part before it is lent to another one.
    pub lease: Duration,
    /// Number of devices that must give the same answer, each asked independently, before the answer is accepted.
    pub agreeing: u32,
    /// Number of times that a part is lent at most.
    pub attempts_max: u32,
    /// Factor by which a part must take longer than usual before it is lent once more, when nothing else is left to do.
    /// The first answer counts.
    pub dawdling: u32,
    /// Time that the customer waits at most; `None` for no limit, even if no device ever offers to do the work.
    pub within: Option<Duration>,
}

impl Default for WorkTerms {
    fn default() -> Self {
        Self { lease: Duration::from_secs(60), agreeing: 1, attempts_max: 8, dawdling: 3, within: None }
    }
}

impl WorkTerms {
    fn dawdles_after(&self, median: Duration) -> Duration {
        median.saturating_mul(self.dawdling).max(Duration::from_millis(WORK_DAWDLES_MS_MIN))
    }
}

/// Part lent to a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartLease {
    /// Part.
    pub part: Part,
    /// Device that is to do it.
    pub device: Symbol,
    /// Time before which the part is not lent again.
    pub until: Time,
}

/// Verdict on an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerVerdict {
    /// Answer that counts; other devices are still asked.
    Taken,
    /// Answer that completes the part.
    Done,
    /// Late answer: the part was done already, or given up.
    Late,
    /// Answer of a device that was not asked, or has answered already.
    Unasked,
}

/// Reason why a part has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfinished {
    /// Part that was lent as often as allowed.
    #[error("it was lent {0} times, and not enough answers agree")]
    Attempts(u32),
    /// Part whose [`WorkTerms::within`] is over.
    #[error("no device did it in time: it was lent {0} times")]
    Time(u32),
}

/// Answer to a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answered<A> {
    /// Answer.
    pub answer: A,
    /// Devices that gave the answer, the first of them first.
    pub by: Vec<Symbol>,
}

/// Outcome of a part.
pub type Outcome<A> = (Part, Result<Answered<A>, Unfinished>);

#[derive(Debug)]
struct Loan {
    device: Symbol,
    since: Time,
    until: Time,
}

#[derive(Debug)]
struct OpenPart<A> {
    terms: WorkTerms,
    /// Time at which the customer stops waiting.
    by: Time,
    loans: Vec<Loan>,
    answers: Vec<(Symbol, A)>,
    /// Devices that had it and did not bring it back in time. Their answers still count, and they are asked again if no
    /// other device has room.
    overdue: Vec<Symbol>,
    /// Devices that said that they cannot do the part: they are asked again when all have said so.
    failed: Vec<Symbol>,
    attempts: u32,
    waits: bool,
}

impl<A: PartialEq> OpenPart<A> {
    fn new(terms: WorkTerms, by: Time) -> Self {
        let agreeing = terms.agreeing.max(1);
        let terms = WorkTerms { agreeing, attempts_max: terms.attempts_max.max(agreeing), ..terms };
        Self {
            terms,
            by,
            loans: Vec::new(),
            answers: Vec::new(),
            overdue: Vec::new(),
            failed: Vec::new(),
            attempts: 0,
            waits: true,
        }
    }

    /// Returns true if one more device may have it than needed.
    fn may_be_doubled(&self) -> bool {
        self.loans.len() <= self.terms.agreeing as usize && self.attempts < self.terms.attempts_max
    }

    fn is_lent_to(&self, device: Symbol) -> bool {
        self.loans.iter().any(|loan| loan.device == device)
    }

    fn has_answer_of(&self, device: Symbol) -> bool {
        self.answers.iter().any(|(who, _)| *who == device)
    }

    fn may_be_lent_to(&self, device: Symbol) -> bool {
        !self.is_lent_to(device) && !self.has_answer_of(device)
    }

    fn is_new_to(&self, device: Symbol) -> bool {
        self.may_be_lent_to(device) && !self.failed.contains(&device)
    }

    /// Chooses a suitable device for it, preferably one that did not have it before.
    fn choose(
        &self,
        fleet: &mut Fleet,
        random: &mut dyn FnMut() -> u64,
        suits: &dyn Fn(Symbol) -> bool,
    ) -> Option<Symbol> {
        let is_new = |device: Symbol| self.is_new_to(device) && suits(device);
        let chosen = fleet.choose(random, &|device| is_new(device) && !self.overdue.contains(&device));
        if chosen.is_some() || self.overdue.is_empty() && self.failed.is_empty() {
            return chosen;
        }
        let again = fleet.choose(random, &is_new);
        if again.is_some() || self.failed.is_empty() || fleet.devices().any(|device| is_new(device.agent)) {
            return again;
        }
        fleet.choose(random, &|device| self.may_be_lent_to(device) && suits(device))
    }

    /// Remembers a device that had it.
    fn remember(names: &mut Vec<Symbol>, device: Symbol) {
        if !names.contains(&device) {
            names.push(device);
            let extra = names.len().saturating_sub(WORK_HOLDERS_KEPT);
            names.drain(..extra);
        }
    }

    fn agreeing(&self, answer: &A) -> usize {
        self.answers.iter().filter(|(_, other)| other == answer).count()
    }

    /// Returns how many more devices must be asked, if those being asked give the most frequent answer.
    fn lacking(&self) -> usize {
        let most = self.answers.iter().map(|(_, answer)| self.agreeing(answer)).max().unwrap_or_default();
        (self.terms.agreeing as usize).saturating_sub(most + self.loans.len())
    }
}

/// Work that is shared out among the devices of a [`Fleet`], as a state machine; see the module. The caller sends parts
/// and answers.
///
/// Inputs: [`Work::add`], [`Work::withdraw`], [`Work::handle_answer`], [`Work::handle_failure`], [`Work::handle_gone`],
/// and [`Work::handle_timeout`] when [`Work::poll_timeout`] is due.
///
/// Outputs: [`Work::poll_lease`] and [`Work::poll_outcome`].
///
/// Order: after each input, take leases until there are none, then outcomes until there are none, then the timeout.
/// Call [`Fleet::leave`] before [`Work::handle_gone`].
#[derive(Debug)]
pub struct Work<A> {
    open: FxHashMap<Part, OpenPart<A>>,
    added: Part,
    /// Parts to be lent.
    waiting: VecDeque<Part>,
    /// Ends of loans.
    ends: BTreeSet<(Time, Part, Symbol)>,
    /// Deadlines of parts.
    deadlines: BTreeSet<(Time, Part)>,
    /// Starts of loans, to find those that dawdle.
    begun: BTreeSet<(Time, Part, Symbol)>,
    /// Time to look at parts that could not all be looked at before.
    looks_at: Option<Time>,
    /// Times of the newest answers.
    times: VecDeque<Duration>,
    /// Costs of the newest answers, by device: time multiplied by compute units. They are alike for all, if the claims
    /// are true.
    costs: VecDeque<(Symbol, f64)>,
    outcomes: VecDeque<Outcome<A>>,
}

impl<A> Default for Work<A> {
    fn default() -> Self {
        Self {
            open: FxHashMap::default(),
            added: 0,
            waiting: VecDeque::new(),
            ends: BTreeSet::new(),
            deadlines: BTreeSet::new(),
            begun: BTreeSet::new(),
            looks_at: None,
            times: VecDeque::new(),
            costs: VecDeque::new(),
            outcomes: VecDeque::new(),
        }
    }
}

impl<A: PartialEq> Work<A> {
    /// Adds a part on these terms. Returns its number.
    pub fn add(&mut self, now: Time, terms: WorkTerms) -> Part {
        let part = self.added;
        self.added += 1;
        let by = terms.within.map_or(Time::NEVER, |within| now + within);
        if by != Time::NEVER {
            self.deadlines.insert((by, part));
        }
        self.open.insert(part, OpenPart::new(terms, by));
        self.waiting.push_back(part);
        part
    }

    /// Returns the number of parts without an outcome.
    pub fn unfinished(&self) -> usize {
        self.open.len()
    }

    /// Returns the number of loans.
    pub fn lent(&self) -> usize {
        self.begun.len()
    }

    /// Withdraws a part that its customer does not want any more.
    pub fn withdraw(&mut self, part: Part, fleet: &mut Fleet) {
        self.close(part, fleet);
    }

    /// Closes a part: no device is to do it any more.
    fn close(&mut self, part: Part, fleet: &mut Fleet) -> Option<OpenPart<A>> {
        let mut open = self.open.remove(&part)?;
        self.deadlines.remove(&(open.by, part));
        for loan in open.loans.drain(..) {
            self.forget(part, &loan);
            fleet.release(loan.device);
        }
        Some(open)
    }

    /// Returns the next part to give to a device that suits. `random` returns uniform numbers.
    pub fn poll_lease(
        &mut self,
        now: Time,
        fleet: &mut Fleet,
        random: &mut dyn FnMut() -> u64,
        suits: &dyn Fn(Symbol) -> bool,
    ) -> Option<PartLease> {
        let mut at = 0;
        while at < self.waiting.len().min(WORK_LOOKAHEAD) && fleet.units_free() > 0 {
            let Some(part) = self.waiting.get(at).copied() else { break };
            let Some(open) = self.open.get(&part) else {
                // The part was withdrawn, or its answer came late.
                self.waiting.remove(at);
                continue;
            };
            if let Some(device) = open.choose(fleet, random, suits) {
                self.waiting.remove(at);
                return Some(self.lend(now, part, device));
            }
            at += 1;
        }
        // Parts that suit no device with room must not delay others.
        let has_more = at < self.waiting.len() && fleet.units_free() > 0;
        self.waiting.rotate_left(at);
        self.looks_at = has_more.then(|| now + Duration::from_millis(WORK_LOOKS_MS));
        self.lend_again(now, fleet, random, suits)
    }

    /// Lends a part that dawdles to one more device.
    fn lend_again(
        &mut self,
        now: Time,
        fleet: &mut Fleet,
        random: &mut dyn FnMut() -> u64,
        suits: &dyn Fn(Symbol) -> bool,
    ) -> Option<PartLease> {
        let median = self.median()?;
        if fleet.units_free() == 0 {
            return None;
        }
        let oldest: Vec<_> = self.begun.iter().map(|(since, part, _)| (*since, *part)).take(WORK_LOOKAHEAD).collect();
        for (since, part) in oldest {
            let Some(open) = self.open.get(&part).filter(|open| open.may_be_doubled()) else { continue };
            if now < since + open.terms.dawdles_after(median) {
                continue;
            }
            if let Some(device) = open.choose(fleet, random, suits) {
                return Some(self.lend(now, part, device));
            }
        }
        None
    }

    /// Returns the median time of a part, once known.
    fn median(&self) -> Option<Duration> {
        let mut times: Vec<Duration> = self.times.iter().copied().collect();
        times.sort_unstable();
        times.get(times.len() / 2).copied()
    }

    fn lend(&mut self, now: Time, part: Part, device: Symbol) -> PartLease {
        let mut until = now;
        if let Some(open) = self.open.get_mut(&part) {
            until = now + open.terms.lease;
            open.loans.push(Loan { device, since: now, until });
            open.attempts += 1;
            open.waits = false;
        }
        self.ends.insert((until, part, device));
        self.begun.insert((now, part, device));
        self.queue(part);
        PartLease { part, device, until }
    }

    /// Queues the part if more devices are needed for it; gives the part up if it was lent too often.
    fn queue(&mut self, part: Part) {
        let Some(open) = self.open.get_mut(&part) else { return };
        if open.waits || open.lacking() == 0 {
            return;
        }
        if open.attempts < open.terms.attempts_max {
            open.waits = true;
            // Parts that are begun are finished first: their customers wait less, and liars are found out soon.
            self.waiting.push_front(part);
        } else if open.loans.is_empty() {
            let (attempts, by) = (open.attempts, open.by);
            self.open.remove(&part);
            self.deadlines.remove(&(by, part));
            self.outcomes.push_back((part, Err(Unfinished::Attempts(attempts))));
        }
    }

    /// Takes in a device's answer to a part.
    pub fn handle_answer(
        &mut self,
        now: Time,
        device: Symbol,
        part: Part,
        answer: A,
        fleet: &mut Fleet,
    ) -> AnswerVerdict {
        let Some(open) = self.open.get(&part) else {
            return if part < self.added { AnswerVerdict::Late } else { AnswerVerdict::Unasked };
        };
        if open.has_answer_of(device) || !(open.is_lent_to(device) || open.overdue.contains(&device)) {
            return AnswerVerdict::Unasked;
        }
        if let Some(since) = self.take_back(part, device, fleet) {
            self.note_cost(device, now - since, fleet);
            self.times.push_back(now - since);
            let extra = self.times.len().saturating_sub(WORK_TIMES_KEPT);
            self.times.drain(..extra);
        }
        fleet.note_in_time(device);
        let Some(open) = self.open.get_mut(&part) else { return AnswerVerdict::Late };
        open.answers.push((device, answer));
        let agreeing = open.answers.last().map_or(0, |(_, answer)| open.agreeing(answer));
        if agreeing >= open.terms.agreeing as usize {
            self.finish(part, fleet);
            return AnswerVerdict::Done;
        }
        self.queue(part);
        AnswerVerdict::Taken
    }

    /// Notes how long a device took for a part, which tells its speed in comparison to other devices.
    fn note_cost(&mut self, device: Symbol, took: Duration, fleet: &mut Fleet) {
        let Some(known) = fleet.device(device).filter(|_| took >= Duration::from_millis(WORK_TELLING_MS_MIN)) else {
            return;
        };
        let cost = took.as_secs_f64() * f64::from(known.units) / f64::from(known.condition.places().max(1));
        self.costs.retain(|(who, _)| *who != device);
        let mut others: Vec<f64> = self.costs.iter().map(|(_, cost)| *cost).collect();
        others.sort_unstable_by(f64::total_cmp);
        // The lower one of two: devices that claim too much raise the median.
        if let Some(median) = others.get(others.len().saturating_sub(1) / 2) {
            fleet.note_shown(device, cost / median);
        }
        self.costs.push_back((device, cost));
        let extra = self.costs.len().saturating_sub(WORK_COSTS_KEPT);
        self.costs.drain(..extra);
    }

    /// Finishes a part: its newest answer is the right one.
    fn finish(&mut self, part: Part, fleet: &mut Fleet) {
        let Some(mut open) = self.close(part, fleet) else { return };
        let Some((last, right)) = open.answers.pop() else { return };
        for (device, _) in open.answers.iter().filter(|(_, answer)| *answer != right) {
            fleet.note_wrong(*device);
        }
        let agreed = open.answers.iter().filter(|(_, answer)| *answer == right).map(|(device, _)| *device);
        let by = agreed.chain([last]).collect();
        self.outcomes.push_back((part, Ok(Answered { answer: right, by })));
    }

    /// Takes in that a device cannot do the part.
    pub fn handle_failure(&mut self, device: Symbol, part: Part, fleet: &mut Fleet) {
        if self.take_back(part, device, fleet).is_some() {
            if let Some(open) = self.open.get_mut(&part) {
                OpenPart::<A>::remember(&mut open.failed, device);
            }
            self.queue(part);
        }
    }

    /// Takes in that a device is gone, and out of the fleet: its parts are lent again.
    pub fn handle_gone(&mut self, device: Symbol, fleet: &mut Fleet) {
        let had: Vec<Part> = self.begun.iter().filter(|(_, _, who)| *who == device).map(|(_, part, _)| *part).collect();
        for part in had {
            self.take_back(part, device, fleet);
            if let Some(open) = self.open.get_mut(&part) {
                // A device that leaves did not try: leaving must not use up attempts.
                open.attempts -= 1;
            }
            self.queue(part);
        }
    }

    /// Gives up parts whose customers no longer wait, and lends parts again that were not brought back in time.
    pub fn handle_timeout(&mut self, now: Time, fleet: &mut Fleet) {
        while let Some(&(_, part)) = self.deadlines.first().filter(|(by, _)| *by <= now) {
            let attempts = self.close(part, fleet).map_or(0, |open| open.attempts);
            self.outcomes.push_back((part, Err(Unfinished::Time(attempts))));
        }
        while let Some(&(until, part, device)) = self.ends.first().filter(|(until, ..)| *until <= now) {
            self.take_back(part, device, fleet);
            self.ends.remove(&(until, part, device));
            if let Some(open) = self.open.get_mut(&part) {
                OpenPart::<A>::remember(&mut open.overdue, device);
            }
            fleet.note_overdue(device);
            self.queue(part);
        }
    }

    /// Returns when [`Work::handle_timeout`] is due: at the end of a loan or of a customer's wait, or to look at
    /// further parts. [`Time::NEVER`] if it is not.
    pub fn poll_timeout(&self) -> Time {
        let end = self.ends.first().map_or(Time::NEVER, |(until, ..)| *until);
        let end = self.deadlines.first().map_or(end, |(by, _)| end.min(*by));
        self.looks_at.map_or(end, |looks_at| end.min(looks_at))
    }

    /// Returns the time when the next part begins to dawdle. From then on, it could be lent once more to an idle
    /// device. Parts that dawdle already are looked at whenever anything happens.
    pub fn poll_dawdling(&self, now: Time) -> Option<Time> {
        let median = self.median()?;
        let dawdles_at = |(since, part, _): &(Time, Part, Symbol)| {
            let open = self.open.get(part).filter(|open| open.may_be_doubled())?;
            Some(*since + open.terms.dawdles_after(median)).filter(|at| *at > now)
        };
        self.begun.iter().take(WORK_LOOKAHEAD).filter_map(dawdles_at).min()
    }

    /// Returns the next outcome.
    pub fn poll_outcome(&mut self) -> Option<Outcome<A>> {
        self.outcomes.pop_front()
    }

    /// Ends a loan. Returns when it began.
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
