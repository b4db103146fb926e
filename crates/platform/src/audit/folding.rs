//! Folding of audit entries: the first of several equal ones is recorded at once, the others as one entry with their
//! count.
//!
//! A stranger's refusals are equal if reason and address are; a known principal's entries, if action and object are.
//! After each entry the next one of its kind waits [`AUDIT_FOLD_MS`], then twice as long each time, up to
//! [`AUDIT_FOLD_MS_MAX`]. The number of kinds that are kept apart is bounded: for outside parties, for known
//! principals, and for each principal. Entries beyond that are folded by reason alone. So no party can flood the
//! record. Time is an input.

use core::net::IpAddr;
use std::hash::Hasher;
use std::time::Duration;

use rustc_hash::{FxHashMap, FxHasher};

use super::{Act, Party, RefusalReason, Refused};
use crate::Time;
use crate::crowd::household;
use crate::limits::{AUDIT_FOLD_MS, AUDIT_FOLD_MS_MAX, AUDIT_FOLDS_EACH_MAX, AUDIT_FOLDS_MAX, AUDIT_TEXT_BYTES_MAX};

/// Outcome of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// The request was refused.
    Refused(RefusalReason),
    /// The request was allowed.
    Allowed,
}

impl Outcome {
    /// The outcome as the audit log has it: `allowed`, or the reason of the refusal.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Refused(reason) => reason.as_str(),
            Self::Allowed => "allowed",
        }
    }
}

/// Entry of an audit log, before it is folded.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    /// Outcome of the request.
    pub outcome: Outcome,
    /// Principal or stranger who asked.
    pub party: Party<'a>,
    /// Way of the request; may be empty.
    pub from: &'a str,
    /// Requested action; empty if that is not known.
    pub action: &'a str,
    /// Agent or thing that the action was about; may be empty.
    pub object: &'a str,
    /// Further details; may be empty.
    pub detail: &'a str,
}

impl<'a> From<&Refused<'a>> for Entry<'a> {
    fn from(what: &Refused<'a>) -> Self {
        let Refused { reason, who: party, action, object, detail } = *what;
        let action = action.map_or("", super::Action::as_str);
        Self { outcome: Outcome::Refused(reason), party, from: "", action, object, detail }
    }
}

impl<'a> From<&Act<'a>> for Entry<'a> {
    fn from(what: &Act<'a>) -> Self {
        let Act { who, from, action, object, detail } = *what;
        Self { outcome: Outcome::Allowed, party: Party::named(who), from, action, object, detail }
    }
}

/// Entry of an audit log, as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folded {
    /// Outcome of the request.
    pub outcome: Outcome,
    /// True if a party outside the platform caused the entry.
    pub is_outside: bool,
    /// Principal or stranger who asked.
    pub who: String,
    /// Way of the request; may be empty.
    pub from: String,
    /// Requested action; may be empty.
    pub action: String,
    /// Agent or thing of the last such action; may be empty.
    pub object: String,
    /// Further details of the last such entry; may be empty.
    pub detail: String,
    /// Number of equal entries that this one stands for.
    pub count: u64,
}

impl Folded {
    fn of(entry: &Entry<'_>, count: u64) -> Self {
        let Entry { outcome, party, from, action, object, detail } = *entry;
        Self {
            outcome,
            is_outside: party.is_outside(),
            who: cut(&party.to_string()).to_owned(),
            from: cut(from).to_owned(),
            action: action.to_owned(),
            object: cut(object).to_owned(),
            detail: cut(detail).to_owned(),
            count,
        }
    }
}

/// Beginning of a text: a few long names must not fill the log.
fn cut(text: &str) -> &str {
    text.get(..text.floor_char_boundary(AUDIT_TEXT_BYTES_MAX)).unwrap_or_default()
}

/// Key by which entries are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    Stranger(Outcome, IpAddr),
    /// True for outside parties; digests of the principal, and of action and object.
    Named(bool, Outcome, u64, u64),
    /// One principal's many kinds.
    Principal(bool, Outcome, u64),
    /// Further kinds of outside parties, or of known principals.
    Others(bool, Outcome),
}

#[derive(Debug)]
struct Fold {
    last: Folded,
    /// Time at which the last entry was recorded.
    at: Time,
    /// Time until the next entry is recorded.
    wait: Duration,
}

/// See the module.
#[derive(Debug, Default)]
pub struct Folding {
    folds: FxHashMap<Kind, Fold>,
    outside: usize,
    known: usize,
    /// Number of kinds of each principal, by its digest.
    each: FxHashMap<u64, usize>,
    /// Time at which the first fold is due, if known.
    next: Option<Time>,
}

impl Folding {
    /// Takes an entry in. Returns the entry to record at once, if it is the first of its kind for some time.
    pub fn note(&mut self, entry: &Entry<'_>, now: Time) -> Option<Folded> {
        let kind = self.kind_of(entry);
        if let Some(fold) = self.folds.get_mut(&kind) {
            fold.last.count += 1;
            if fold.last.object != entry.object {
                fold.last.object = cut(entry.object).to_owned();
            }
            if fold.last.detail != entry.detail {
                fold.last.detail = cut(entry.detail).to_owned();
            }
            return None;
        }
        let wait = Duration::from_millis(AUDIT_FOLD_MS);
        let mut last = Folded::of(entry, 1);
        match kind {
            Kind::Stranger(..) => self.outside += 1,
            Kind::Named(is_outside, _, who, _) | Kind::Principal(is_outside, _, who) => {
                *(if is_outside { &mut self.outside } else { &mut self.known }) += 1;
                *self.each.entry(who).or_default() += 1;
            }
            Kind::Others(..) => "others".clone_into(&mut last.who),
        }
        let first = last.clone();
        last.count = 0;
        self.folds.insert(kind, Fold { last, at: now, wait });
        self.next = Some(self.next.map_or(now + wait, |next| next.min(now + wait)));
        Some(first)
    }

    /// Takes the entries of kinds whose time has come. Kinds without new entries are forgotten.
    pub fn due(&mut self, now: Time) -> Vec<Folded> {
        if self.next.is_none_or(|next| now < next) {
            return Vec::new();
        }
        self.record(now, |fold| fold.at + fold.wait <= now)
    }

    /// Everything that was counted and is not recorded yet.
    pub fn rest(&mut self, now: Time) -> Vec<Folded> {
        self.record(now, |fold| fold.last.count > 0)
    }

    fn record(&mut self, now: Time, is_due: impl Fn(&Fold) -> bool) -> Vec<Folded> {
        let (mut recorded, mut next) = (Vec::new(), None::<Time>);
        let mut forgotten = Vec::new();
        self.folds.retain(|kind, fold| {
            if is_due(fold) {
                if fold.last.count == 0 {
                    forgotten.push(*kind);
                    return false;
                }
                recorded.push(fold.last.clone());
                fold.last.count = 0;
                fold.at = now;
                fold.wait = (2 * fold.wait).min(Duration::from_millis(AUDIT_FOLD_MS_MAX));
            }
            let due = fold.at + fold.wait;
            next = Some(next.map_or(due, |next| next.min(due)));
            true
        });
        self.next = next;
        forgotten.iter().for_each(|kind| self.forget(kind));
        recorded
    }

    fn kind_of(&self, entry: &Entry<'_>) -> Kind {
        let (outcome, is_outside) = (entry.outcome, entry.party.is_outside());
        let kind = match entry.party {
            Party::Stranger(from) => Kind::Stranger(outcome, household(from)),
            Party::Session(name) | Party::Known(name) => {
                let who = digest(&[name]);
                let kind = Kind::Named(is_outside, outcome, who, digest(&[entry.from, entry.action, entry.object]));
                let each = self.each.get(&who).copied().unwrap_or_default();
                match each >= AUDIT_FOLDS_EACH_MAX && !self.folds.contains_key(&kind) {
                    true => Kind::Principal(is_outside, outcome, who),
                    false => kind,
                }
            }
        };
        let all = if is_outside { self.outside } else { self.known };
        let is_one_too_many = all >= AUDIT_FOLDS_MAX && !self.folds.contains_key(&kind);
        if is_one_too_many { Kind::Others(is_outside, outcome) } else { kind }
    }

    fn forget(&mut self, kind: &Kind) {
        match kind {
            Kind::Stranger(..) => self.outside = self.outside.saturating_sub(1),
            Kind::Named(is_outside, _, who, _) | Kind::Principal(is_outside, _, who) => {
                let all = if *is_outside { &mut self.outside } else { &mut self.known };
                *all = all.saturating_sub(1);
                let left = self.each.get_mut(who).map_or(0, |count| {
                    *count = count.saturating_sub(1);
                    *count
                });
                if left == 0 {
                    self.each.remove(who);
                }
            }
            Kind::Others(..) => {}
        }
    }
}

fn digest(texts: &[&str]) -> u64 {
    let mut hasher = FxHasher::default();
    for text in texts {
        hasher.write(text.as_bytes());
        hasher.write_u8(0xff);
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Action;

    fn stranger(number: u32, detail: &str) -> Entry<'_> {
        Entry::from(&Refused::stranger(RefusalReason::BadToken, number.to_be_bytes().into(), detail))
    }

    fn spy(object: &str) -> Entry<'_> {
        Entry::from(&Refused::forbidden("agent:spy", Action::Send, object))
    }

    #[test]
    fn equal_refusals_of_an_address_are_counted() {
        let mut folding = Folding::default();
        let first = folding.note(&stranger(1, "GET /0"), Time::ZERO).expect("the first is recorded");
        assert_eq!((first.who.as_str(), first.count, first.is_outside), ("0.0.0.1", 1, true));
        for number in 1..=45_000 {
            assert_eq!(folding.note(&stranger(1, &format!("GET /{number}")), Time::from_ms(5)), None);
        }
        assert!(folding.note(&stranger(2, ""), Time::from_ms(5)).is_some(), "another address");
        assert_eq!(folding.due(Time::from_ms(AUDIT_FOLD_MS - 1)), []);
        let due = folding.due(Time::from_ms(AUDIT_FOLD_MS + 5));
        let [one] = &due[..] else { panic!("{due:?}") };
        assert_eq!((one.count, one.detail.as_str()), (45_000, "GET /45000"));
    }

    #[test]
    fn intervals_of_a_flood_grow() {
        let (mut folding, mut lines) = (Folding::default(), 0);
        for ms in (0..86_400_000).step_by(1_000) {
            lines += usize::from(folding.note(&stranger(1, ""), Time::from_ms(ms)).is_some());
            lines += folding.due(Time::from_ms(ms)).len();
        }
        assert!((288..=320).contains(&lines), "{lines} lines of one day");
        let rest = folding.rest(Time::from_ms(86_400_000));
        assert_eq!(rest.len(), 1);
        folding.due(Time::from_ms(86_400_000 + AUDIT_FOLD_MS_MAX));
        assert!(folding.folds.is_empty() && folding.each.is_empty() && folding.outside == 0, "nothing is kept");
    }

    #[test]
    fn many_addresses_leave_principals_their_lines() {
        let mut folding = Folding::default();
        let recorded = (0..100_000).filter_map(|number| folding.note(&stranger(number, ""), Time::ZERO)).count();
        assert_eq!(recorded, AUDIT_FOLDS_MAX + 1);
        assert!(folding.note(&spy("vault"), Time::ZERO).is_some());
        let due = folding.due(Time::from_ms(AUDIT_FOLD_MS));
        let [others] = &due[..] else { panic!("{} are due", due.len()) };
        assert_eq!((others.who.as_str(), others.count), ("others", 100_000 - AUDIT_FOLDS_MAX as u64 - 1));
    }

    #[test]
    fn one_principal_leaves_others_their_lines() {
        let mut folding = Folding::default();
        let objects: Vec<String> = (0..1_000).map(|number| format!("o{number}")).collect();
        let recorded = objects.iter().filter_map(|object| folding.note(&spy(object), Time::ZERO)).count();
        assert_eq!(recorded, AUDIT_FOLDS_EACH_MAX + 1);
        let act = Act { who: "agent:boss", from: "", action: "kill", object: "o1", detail: "" };
        let kept = folding.note(&Entry::from(&act), Time::ZERO).expect("another principal's");
        assert_eq!((kept.outcome.as_str(), kept.is_outside), ("allowed", false));
    }

    #[test]
    fn sessions_are_outside() {
        let mut folding = Folding::default();
        let names: Vec<String> = (0..10_000).map(|number| format!("session:s{number} of node:n1")).collect();
        let forged = |name| Entry::from(&Refused::somebody(RefusalReason::Forged, name, ""));
        let recorded: Vec<Folded> = names.iter().filter_map(|name| folding.note(&forged(name), Time::ZERO)).collect();
        assert_eq!(recorded.len(), AUDIT_FOLDS_MAX + 1);
        assert!(recorded.iter().all(|one| one.is_outside));
        assert!(folding.note(&spy("vault"), Time::ZERO).is_some_and(|one| one.who == "agent:spy" && !one.is_outside));
    }

    #[test]
    fn long_texts_are_cut() {
        let mut folding = Folding::default();
        let long = "é".repeat(AUDIT_TEXT_BYTES_MAX);
        let first = folding.note(&spy(&long), Time::ZERO).expect("the first");
        assert_eq!(first.object.len(), AUDIT_TEXT_BYTES_MAX);
    }
}
