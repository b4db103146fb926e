//! Folding of audit entries: the first of several equal ones is recorded at once, the others as one entry with their
//! count.
//!
//! A stranger's refusals are equal if reason and address are; another party's entries, if way, action and object are.
//! After each entry the next one of its kind waits [`AUDIT_FOLD_MS`], then twice as long each time, up to
//! [`AUDIT_FOLD_MS_MAX`]. Each [`Standing`] has room of its own for [`AUDIT_FOLDS_MAX`] kinds. Members and outside
//! parties get new kinds more slowly once they have used that up. One party has [`AUDIT_FOLDS_EACH_MAX`] at most. Their
//! further entries are folded by party and reason, or by reason alone. Different acts of operators are never put
//! together. So no party can flood the record, or hide what parties of another standing did. Time is an input.

use core::net::IpAddr;
use std::time::Duration;

use rustc_hash::FxHashMap;

use super::{Act, Party, PerStanding, RefusalReason, Refused, Standing};
use crate::Time;
use crate::connection_limit::household;
use crate::limits::{
    AUDIT_FOLD_MS, AUDIT_FOLD_MS_MAX, AUDIT_FOLDS_EACH_MAX, AUDIT_FOLDS_MAX, AUDIT_KINDS_PER_S, AUDIT_TEXT_BYTES_MAX,
};
use crate::rate::Rate;

/// Outcome of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// The request was refused.
    Refused(RefusalReason),
    /// The request was allowed.
    Allowed,
}

impl Outcome {
    /// Returns the outcome as the audit log has it: `allowed`, or the reason of the refusal.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Refused(reason) => reason.as_str(),
            Self::Allowed => "allowed",
        }
    }
}

/// Entry of an audit log, before it is folded.
#[derive(Clone, Copy, Debug)]
pub struct AuditEntry<'a> {
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

impl<'a> From<&Refused<'a>> for AuditEntry<'a> {
    fn from(what: &Refused<'a>) -> Self {
        let Refused { reason, who: party, action, object, detail } = *what;
        let action = action.map_or("", super::Action::as_str);
        Self { outcome: Outcome::Refused(reason), party, from: "", action, object, detail }
    }
}

impl<'a> From<&Act<'a>> for AuditEntry<'a> {
    fn from(what: &Act<'a>) -> Self {
        let Act { who, from, action, object, detail } = *what;
        Self { outcome: Outcome::Allowed, party: who, from, action, object, detail }
    }
}

/// Entry of an audit log, as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folded {
    /// Outcome of the request.
    pub outcome: Outcome,
    /// Standing of the party that caused the entry.
    pub standing: Standing,
    /// Party that asked; `others` if there were several.
    pub who: String,
    /// Way of the request; empty if there were several.
    pub from: String,
    /// Requested action; empty if there were several.
    pub action: String,
    /// Agent or thing that the action was about; empty if there were several.
    pub object: String,
    /// Further details of the last such entry; may be empty.
    pub detail: String,
    /// Number of equal entries that this one stands for.
    pub count: u64,
}

impl Folded {
    fn of(entry: &AuditEntry<'_>, count: u64) -> Self {
        let AuditEntry { outcome, party, from, action, object, detail } = *entry;
        Self {
            outcome,
            standing: party.standing(),
            who: cut(&party.to_string()).to_owned(),
            from: cut(from).to_owned(),
            action: action.to_owned(),
            object: cut(object).to_owned(),
            detail: cut(detail).to_owned(),
            count,
        }
    }
}

/// Returns the beginning of a text: a few long names must not fill the log.
fn cut(text: &str) -> &str {
    text.get(..text.floor_char_boundary(AUDIT_TEXT_BYTES_MAX)).unwrap_or_default()
}

/// Key by which entries are equal.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum FoldKey {
    /// Refusals of an address.
    Stranger(Outcome, IpAddr),
    /// Entries of a party with the same way, action and object.
    Named(Standing, Outcome, Box<str>, Box<[Box<str>; 3]>),
    /// Further kinds of one party.
    Various(Standing, Outcome, Box<str>),
    /// Further kinds of a standing.
    Others(Standing, Outcome),
}

impl FoldKey {
    const fn standing(&self) -> Standing {
        match self {
            Self::Stranger(..) => Standing::Outside,
            Self::Named(standing, ..) | Self::Various(standing, ..) | Self::Others(standing, ..) => *standing,
        }
    }

    /// Returns the name of the party, if the kinds of a party are counted.
    fn party(&self) -> Option<&str> {
        match self {
            Self::Named(_, _, who, _) | Self::Various(_, _, who) => Some(who),
            Self::Stranger(..) | Self::Others(..) => None,
        }
    }
}

#[derive(Debug)]
struct Fold {
    last: Folded,
    /// Time at which the last entry was recorded.
    at: Time,
    /// Time until the next entry is recorded.
    wait: Duration,
}

impl Fold {
    /// Counts one more entry. Fields that differ from those before are left out.
    fn count(&mut self, entry: &AuditEntry<'_>) {
        let last = &mut self.last;
        if last.count == 0 {
            let who = std::mem::take(&mut last.who);
            *last = Folded { who, ..Folded::of(entry, 1) };
            return;
        }
        last.count += 1;
        for (text, new) in
            [(&mut last.from, entry.from), (&mut last.action, entry.action), (&mut last.object, entry.object)]
        {
            if *text != cut(new) {
                text.clear();
            }
        }
        if last.detail != cut(entry.detail) {
            cut(entry.detail).clone_into(&mut last.detail);
        }
    }
}

/// Kinds of one standing.
#[derive(Debug)]
struct KindBudget {
    kinds: usize,
    /// New kinds that the standing may still have; used up by the kinds of a flood.
    new: Rate,
}

/// Folding of audit entries; see the module. Call [`Folding::note`] for each entry, [`Folding::due`] from time to time,
/// and [`Folding::rest`] at the end.
#[derive(Debug)]
pub struct Folding {
    folds: FxHashMap<FoldKey, Fold>,
    rooms: PerStanding<KindBudget>,
    /// Number of kinds of each party.
    each: FxHashMap<Box<str>, usize>,
    /// Time at which the first fold is due, if known.
    next: Option<Time>,
}

impl Default for Folding {
    fn default() -> Self {
        let new = || Rate::new(AUDIT_KINDS_PER_S, AUDIT_FOLDS_MAX as u32, Time::ZERO);
        Self {
            folds: FxHashMap::default(),
            rooms: PerStanding::of(|_| KindBudget { kinds: 0, new: new() }),
            each: FxHashMap::default(),
            next: None,
        }
    }
}

impl Folding {
    /// Takes an entry in. Returns the entry to record at once, if it is the first of its kind for some time.
    pub fn note(&mut self, entry: &AuditEntry<'_>, now: Time) -> Option<Folded> {
        let Some(kind) = self.kind_of(entry, now) else { return Some(Folded::of(entry, 1)) };
        if let Some(fold) = self.folds.get_mut(&kind) {
            fold.count(entry);
            return None;
        }
        let mut first = Folded::of(entry, 1);
        if let FoldKey::Others(..) = kind {
            "others".clone_into(&mut first.who);
        } else {
            self.rooms[kind.standing()].kinds += 1;
        }
        if let Some(party) = kind.party() {
            *self.each.entry(party.into()).or_default() += 1;
        }
        let wait = Duration::from_millis(AUDIT_FOLD_MS);
        self.folds.insert(kind, Fold { last: Folded { count: 0, ..first.clone() }, at: now, wait });
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

    /// Takes everything that was counted and is not recorded yet.
    pub fn rest(&mut self, now: Time) -> Vec<Folded> {
        self.record(now, |fold| fold.last.count > 0)
    }

    fn record(&mut self, now: Time, is_due: impl Fn(&Fold) -> bool) -> Vec<Folded> {
        let (mut recorded, mut next) = (Vec::new(), None::<Time>);
        let mut forgotten = Vec::new();
        self.folds.retain(|kind, fold| {
            if is_due(fold) {
                if fold.last.count == 0 {
                    forgotten.push(kind.clone());
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

    /// Returns the kind of an entry; `None` if it is recorded by itself.
    fn kind_of(&mut self, entry: &AuditEntry<'_>, now: Time) -> Option<FoldKey> {
        let (outcome, standing) = (entry.outcome, entry.party.standing());
        let kind = match entry.party {
            Party::Stranger(from) => FoldKey::Stranger(outcome, household(from)),
            Party::Holder(name) | Party::Member(name) | Party::Operator(name) => {
                let what = [entry.from, entry.action, entry.object].map(|text| cut(text).into());
                FoldKey::Named(standing, outcome, cut(name).into(), Box::new(what))
            }
        };
        if self.folds.contains_key(&kind) {
            return Some(kind);
        }
        if standing == Standing::Operator {
            return (self.rooms[standing].kinds < AUDIT_FOLDS_MAX).then_some(kind);
        }
        let kind = match kind.party() {
            Some(who) if self.each.get(who).is_some_and(|kinds| *kinds >= AUDIT_FOLDS_EACH_MAX) => {
                FoldKey::Various(standing, outcome, who.into())
            }
            _ => kind,
        };
        let room = &mut self.rooms[standing];
        let has_room = self.folds.contains_key(&kind) || room.kinds < AUDIT_FOLDS_MAX && room.new.take_all(1, now);
        Some(if has_room { kind } else { FoldKey::Others(standing, outcome) })
    }

    fn forget(&mut self, kind: &FoldKey) {
        if !matches!(kind, FoldKey::Others(..)) {
            let room = &mut self.rooms[kind.standing()];
            room.kinds = room.kinds.saturating_sub(1);
        }
        let Some(party) = kind.party() else { return };
        let left = self.each.get_mut(party).map_or(0, |count| {
            *count = count.saturating_sub(1);
            *count
        });
        if left == 0 {
            self.each.remove(party);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Action;

    fn stranger(number: u32, detail: &str) -> AuditEntry<'_> {
        AuditEntry::from(&Refused::stranger(RefusalReason::BadToken, number.to_be_bytes().into(), detail))
    }

    fn spy(object: &str) -> AuditEntry<'_> {
        AuditEntry::from(&Refused::forbidden("agent:spy", Action::Send, object))
    }

    #[test]
    fn equal_refusals_are_counted() {
        let mut folding = Folding::default();
        let first = folding.note(&stranger(1, "GET /0"), Time::ZERO).expect("the first is recorded");
        assert_eq!((first.who.as_str(), first.count, first.standing), ("0.0.0.1", 1, Standing::Outside));
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
        assert!(folding.folds.is_empty() && folding.each.is_empty(), "nothing is kept");
        assert!(folding.rooms.iter().all(|room| room.kinds == 0));
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

    fn act<'a>(who: Party<'a>, object: &'a str) -> AuditEntry<'a> {
        AuditEntry::from(&Act { who, from: "http 192.0.2.1", action: "kill", object, detail: "" })
    }

    #[test]
    fn one_principal_leaves_others_their_lines() {
        let mut folding = Folding::default();
        let objects: Vec<String> = (0..1_000).map(|number| format!("o{number}")).collect();
        let recorded = objects.iter().filter_map(|object| folding.note(&spy(object), Time::ZERO)).count();
        assert_eq!(recorded, AUDIT_FOLDS_EACH_MAX + 1);
        let kept = folding.note(&act(Party::Member("agent:boss"), "o1"), Time::ZERO).expect("another principal's");
        assert_eq!((kept.outcome.as_str(), kept.standing), ("allowed", Standing::Member));
    }

    #[test]
    fn agents_hide_no_operators_acts() {
        let mut folding = Folding::default();
        let names: Vec<String> = (0..10_000).map(|number| format!("agent:a{number}")).collect();
        names.iter().for_each(|name| drop(folding.note(&act(Party::Member(name), "b"), Time::ZERO)));
        let objects: Vec<String> = (0..2_000).map(|number| format!("o{number}")).collect();
        let acts = objects.iter().map(|object| act(Party::Operator("token:admin"), object));
        let recorded: Vec<Folded> = acts.filter_map(|act| folding.note(&act, Time::ZERO)).collect();
        assert_eq!(recorded.len(), 2_000, "each act of an operator has a line");
        assert!(recorded.iter().all(|one| one.who == "token:admin" && one.standing == Standing::Operator));
    }

    #[test]
    fn equal_operator_acts_are_counted() {
        let mut folding = Folding::default();
        let equal = act(Party::Operator("token:admin"), "bob");
        assert_eq!((0..100).filter_map(|_| folding.note(&equal, Time::ZERO)).count(), 1);
        assert_eq!(folding.rest(Time::ZERO).iter().map(|one| one.count).collect::<Vec<_>>(), [99]);
    }

    #[test]
    fn new_kinds_come_slowly_after_many() {
        let (mut folding, mut lines, mut number) = (Folding::default(), 0, 0);
        for ms in (0..3_600_000).step_by(100) {
            for _ in 0..10 {
                number += 1;
                let name = format!("agent:a{number}");
                lines += usize::from(folding.note(&act(Party::Member(&name), "b"), Time::from_ms(ms)).is_some());
            }
            lines += folding.due(Time::from_ms(ms)).len();
        }
        let most = AUDIT_FOLDS_MAX + 3_600 * AUDIT_KINDS_PER_S as usize;
        assert!((most..most + 100).contains(&lines), "{lines} lines of an hour, {most} of them kinds");
    }

    #[test]
    fn mixed_entries_name_nothing_that_differs() {
        let mut folding = Folding::default();
        let names: Vec<String> = (0..2 * AUDIT_FOLDS_MAX).map(|number| format!("agent:a{number}")).collect();
        names.iter().for_each(|name| drop(folding.note(&act(Party::Member(name), name), Time::ZERO)));
        let rest = folding.rest(Time::ZERO);
        let [others] = &rest[..] else { panic!("{} are left", rest.len()) };
        assert_eq!((others.who.as_str(), others.action.as_str(), others.object.as_str()), ("others", "kill", ""));
        folding.note(&act(Party::Member("agent:new"), "thing"), Time::ZERO);
        let rest = folding.rest(Time::ZERO);
        assert_eq!(rest.first().map(|one| (one.object.as_str(), one.count)), Some(("thing", 1)));
    }

    #[test]
    fn sessions_are_outside() {
        let mut folding = Folding::default();
        let names: Vec<String> = (0..10_000).map(|number| format!("session:s{number} of node:n1")).collect();
        let forged = |name| AuditEntry::from(&Refused::somebody(RefusalReason::Forged, name, ""));
        let recorded: Vec<Folded> = names.iter().filter_map(|name| folding.note(&forged(name), Time::ZERO)).collect();
        assert_eq!(recorded.len(), AUDIT_FOLDS_MAX + 1);
        assert!(recorded.iter().all(|one| one.standing == Standing::Outside));
        let spy = folding.note(&spy("vault"), Time::ZERO).expect("an agent's");
        assert_eq!((spy.who.as_str(), spy.standing), ("agent:spy", Standing::Member));
    }

    #[test]
    fn claimed_names_are_no_operators() {
        for name in ["token:viewer from ::", "stranger", "session:s", "n1", "operator"] {
            assert_eq!(Party::named(name).standing(), Standing::Outside, "{name}");
        }
    }

    #[test]
    fn long_texts_are_cut() {
        let mut folding = Folding::default();
        let long = "é".repeat(AUDIT_TEXT_BYTES_MAX);
        let first = folding.note(&spy(&long), Time::ZERO).expect("the first");
        assert_eq!(first.object.len(), AUDIT_TEXT_BYTES_MAX);
    }
}
