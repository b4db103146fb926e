//! One node's part in the cluster, as a state machine: what it was told and what came of what it did in, what is to be done
//! next out.

mod ending;
mod joining;
mod levels;
mod moves;
mod outcomes;
mod serving;

pub use self::levels::LEVEL;
use self::moves::Ask;
pub use self::serving::NodeView;

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use super::holdings::Holdings;
use super::member::{Member, MemberState, Nonce};
use super::placement::{Cause, Change, ChangeKind, Placement};
use super::relief::Pressure;
use super::roster::Roster;
use super::society::{FormerOwner, Society};
use crate::durable::Layout;
use crate::mobility::HopError;
use crate::store::{Epoch, Partition, Revision, StoreError, Watched, WriteError};
use crate::time::Time;

/// The key of the table.
pub const PLACEMENT: &str = "placement";
/// The key of the [`Society`].
pub const SOCIETY: &str = "society";
/// What nodes' keys begin with, before their numbers.
pub const NODE: &str = "node/";
/// What the keys of those that are asked to drain begin with.
pub const DRAIN: &str = "drain/";
/// The key of a store's only owner, in releases before clusters.
const FORMER_OWNER: &str = "owner";
/// A key that was there, in those releases, while a society was being forgotten.
const FORMER_ERASING: &str = "erasing";

/// How often a node shows that it lives.
pub const BEAT: Duration = Duration::from_millis(250);
/// How long what failed is left alone before it is tried again.
pub const PAUSE: Duration = Duration::from_millis(100);
/// How often it is said again which nodes to be linked with.
const LINK_AGAIN: Duration = Duration::from_secs(1);
/// How often the placer looks.
const LOOK: Duration = Duration::from_millis(100);

/// How a node takes part.
#[derive(Clone, Debug)]
pub struct Terms {
    /// Its number.
    pub me: Nonce,
    /// Its name, if it is to have this one and no other.
    pub name: Option<String>,
    /// The level of what it writes for other nodes: [`LEVEL`].
    pub level: u32,
    /// How much it can do, beside others.
    pub weight: u32,
    /// It serves only if no ordinary node does.
    pub standby: bool,
    /// What is kept of a society is to be forgotten first; refused if any node lives.
    pub fresh: bool,
    /// This process has the store for itself: whoever else is written down is dead.
    pub alone: bool,
    /// How long a node may be silent before it is dead.
    pub patience: Duration,
    /// Which project the society runs.
    pub project: String,
    /// The programs of its durable agents, by file: a fingerprint of each.
    pub programs: BTreeMap<String, String>,
    /// A secret, if this is the first node.
    pub token: String,
    /// Machine and process, for people.
    pub process: String,
    /// How many partitions the store has, and what is wanted of who has them.
    pub layout: Layout,
    /// What this node is called beside its name.
    pub labels: Vec<String>,
}

/// What is to be done next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Write a key, and tell [`Participant::wrote`].
    Write(String, Revision, Vec<u8>),
    /// Remove a key, and tell [`Participant::wrote`] with revision 0.
    Remove(String, Revision),
    /// Read a key, and tell [`Participant::read`].
    Read(String),
    /// Serve these, and tell [`Participant::adopted`].
    Adopt(Vec<(Partition, Epoch)>),
    /// Serve these no longer, and tell [`Participant::yielded`].
    Yield(Vec<Partition>),
    /// Forget all that is kept in all partitions: this node owns them in this epoch. Tell [`Participant::forgot`].
    Forget(Epoch),
    /// It is let in: get ready to serve, and to be linked with, then [`Participant::begin`].
    Accepted {
        /// The name it has among nodes.
        name: String,
        /// What links are opened with.
        token: String,
    },
    /// The nodes to be linked with, name and address of each: those that were there before. Told again and again.
    LinkWith(Vec<(String, String)>),
    /// What became of a partition that [somebody wanted](Participant::ask_to_move) on another node: that node serves it, or why not.
    Moved {
        /// Which.
        partition: Partition,
        /// Where it was wanted.
        to: Nonce,
        /// That node serves it; or why it does not.
        outcome: Result<(), HopError>,
    },
    /// Something that people may want to know.
    Note(String),
    /// The society has ended on another node: end, then [`Participant::leave`].
    Conclude,
    /// It is over; nothing is to be done any more.
    End(Ending),
}

/// How a node's part ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// By itself.
    Left,
    /// Others took it for dead.
    Deposed,
    /// It was not let in, or cannot serve what it should.
    Failed(String),
}

/// A value and which write it is of.
#[derive(Debug)]
struct Version<T> {
    revision: Revision,
    value: T,
}

/// What was written last, until it is known what came of it.
#[derive(Debug)]
enum Writing {
    Beat(Member),
    Table(Placement),
    Society(Society),
    Other,
}

/// How far it has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// It looks around; nobody knows of it.
    Asking,
    /// Its key is there.
    Joining,
    /// It was let in, and gets ready.
    Accepted,
    /// It serves.
    Serving,
    /// It has stopped serving, and is to say so when it has done the rest.
    Leaving,
    /// It is over.
    Ended,
}

/// A node's part in the cluster.
///
/// Tell it what a watch of all keys tells ([`Participant::told`]), and what came of what it had done; ask it what is next
/// ([`Participant::act`]) after that, and at least as often as [`PAUSE`], until there is nothing.
#[derive(Debug)]
pub struct Participant {
    terms: Terms,
    phase: Phase,
    roster: Roster,
    holdings: Holdings,
    table: Option<Version<Placement>>,
    society: Option<Version<Society>>,
    former: Option<Version<FormerOwner>>,
    former_since: Time,
    former_erasing: bool,
    /// The names of all nodes that were ever seen.
    names: BTreeMap<Nonce, String>,
    me: Member,
    revision: Revision,
    /// When to show next that it lives; `None` if at once.
    beat_at: Option<Time>,
    writing: Option<Writing>,
    to_read: Option<String>,
    /// Nothing that failed is tried again before.
    not_before: Time,
    /// The table may want something from this node.
    is_due: bool,
    look_at: Time,
    /// Who could be given partitions, and since when it has been these.
    candidates: Vec<Nonce>,
    settled: Time,
    pressure: Pressure,
    linked: Vec<(String, String)>,
    link_at: Time,
    draining: BTreeMap<Nonce, Revision>,
    /// Its key is no more.
    lost: bool,
    /// The society ended here.
    concluding: bool,
    told_concluded: bool,
    /// All is forgotten, as the owner of all in this epoch.
    forgotten: Option<Epoch>,
    forgetting: bool,
    /// It is to drain because it leaves.
    leaving: bool,
    /// What is told before anything else is done.
    to_do: VecDeque<Action>,
    /// Nodes to be asked to drain, or no longer to.
    wishes: Vec<(Nonce, bool)>,
    /// Partitions that somebody here waits for to be on other nodes.
    asks: Vec<Ask>,
    /// Partitions that are to be nowhere in particular any more.
    frees: Vec<(Partition, Option<Nonce>)>,
    /// Partitions that were found opened in a higher epoch than the table says.
    too_low: BTreeMap<Partition, Epoch>,
    /// What has been said of partitions that wait for a node.
    told_vacant: Vec<String>,
    /// It took all partitions in this epoch, to forget what is kept.
    taken: Option<Epoch>,
    /// Its own key was told.
    seen_self: bool,
    /// The number it is to have, while that is being written.
    numbering: Option<u64>,
    /// Somebody who may be alive or not, and what it wrote last when it was looked at first.
    rival: Option<(Nonce, Revision)>,
}

impl Participant {
    /// One that has not looked around yet.
    pub fn new(terms: Terms, now: Time) -> Self {
        let roster = if terms.alone { Roster::alone(terms.me) } else { Roster::new(terms.patience) };
        let me = Member {
            name: String::new(),
            address: String::new(),
            level: terms.level,
            weight: terms.weight,
            state: MemberState::Joining,
            standby: terms.standby,
            number: 0,
            term: 0,
            agents: 0,
            beat: 0,
            process: terms.process.clone(),
            labels: terms.labels.clone(),
            load: None,
            troubles: Vec::new(),
        };
        Self {
            phase: Phase::Asking,
            roster,
            holdings: Holdings::default(),
            table: None,
            society: None,
            former: None,
            former_since: now,
            former_erasing: false,
            names: BTreeMap::new(),
            me,
            revision: Revision(0),
            beat_at: None,
            writing: None,
            to_read: None,
            not_before: now,
            is_due: false,
            look_at: now,
            candidates: Vec::new(),
            settled: now,
            pressure: Pressure::default(),
            linked: Vec::new(),
            link_at: now,
            draining: BTreeMap::new(),
            lost: false,
            concluding: false,
            told_concluded: false,
            forgotten: None,
            forgetting: false,
            leaving: false,
            to_do: VecDeque::new(),
            wishes: Vec::new(),
            asks: Vec::new(),
            frees: Vec::new(),
            too_low: BTreeMap::new(),
            told_vacant: Vec::new(),
            taken: None,
            seen_self: false,
            numbering: None,
            rival: None,
            terms,
        }
    }

    /// What is to be done next; `None`: nothing now.
    pub fn act(&mut self, now: Time) -> Option<Action> {
        if self.phase == Phase::Ended {
            return None;
        }
        self.roster.look(now);
        if self.lost {
            return Some(self.end(Ending::Deposed));
        }
        if self.writing.is_some() {
            return None;
        }
        if let Some(action) = self.to_do.pop_front() {
            return Some(match action {
                Action::End(ending) => self.end(ending),
                other => other,
            });
        }
        if self.phase != Phase::Asking && self.beat_at.is_none_or(|at| now >= at) {
            return Some(self.beat(now));
        }
        if now < self.not_before {
            return None;
        }
        if let Some(key) = self.to_read.take() {
            return Some(Action::Read(key));
        }
        match self.phase {
            Phase::Asking => self.ask(now),
            Phase::Joining => self.join(now),
            Phase::Accepted | Phase::Ended => None,
            Phase::Serving => self.serve(now),
            Phase::Leaving => self.finish(now),
        }
    }

    fn end(&mut self, ending: Ending) -> Action {
        self.phase = Phase::Ended;
        Action::End(ending)
    }

    fn beat(&mut self, now: Time) -> Action {
        self.beat_at = Some(now + BEAT);
        let me = Member { beat: self.me.beat + 1, ..self.me.clone() };
        let bytes = serde_json::to_vec(&me).unwrap_or_default();
        self.writing = Some(Writing::Beat(me));
        Action::Write(self.my_key(), self.revision, bytes)
    }

    fn my_key(&self) -> String {
        format!("{NODE}{}", self.terms.me)
    }

    fn write_table(&mut self, table: Placement) -> Action {
        let revision = self.table.as_ref().map_or(Revision(0), |table| table.revision);
        let bytes = table.encode();
        self.writing = Some(Writing::Table(table));
        Action::Write(PLACEMENT.to_owned(), revision, bytes)
    }

    fn write_society(&mut self, society: Society) -> Action {
        let revision = self.society.as_ref().map_or(Revision(0), |society| society.revision);
        let bytes = serde_json::to_vec(&society).unwrap_or_default();
        self.writing = Some(Writing::Society(society));
        Action::Write(SOCIETY.to_owned(), revision, bytes)
    }

    fn write_other(&mut self, key: String, revision: Revision, value: Vec<u8>) -> Action {
        self.writing = Some(Writing::Other);
        Action::Write(key, revision, value)
    }

    fn remove(&mut self, key: String, revision: Revision) -> Action {
        self.writing = Some(Writing::Other);
        Action::Remove(key, revision)
    }

    /// What came of the last [`Action::Write`] or [`Action::Remove`].
    pub fn wrote(&mut self, key: &str, outcome: Result<Revision, WriteError>, now: Time) {
        let writing = self.writing.take();
        let numbering = self.numbering.take();
        match (outcome, writing) {
            (Ok(revision), Some(Writing::Beat(me))) => {
                (self.me.beat, self.revision) = (me.beat, revision);
                // What was said while it was being written is said next.
                if (me.state, &me.address, &me.troubles) != (self.me.state, &self.me.address, &self.me.troubles) {
                    self.beat_at = None;
                }
                if revision != Revision(0) {
                    self.roster.written(self.terms.me, revision, me, now);
                }
            }
            (Ok(revision), Some(Writing::Table(table))) => self.table_is(revision, table, now),
            (Ok(revision), Some(Writing::Society(society))) => {
                if let Some(number) = numbering {
                    self.me.number = number;
                    self.me.name = self.terms.name.clone().unwrap_or_else(|| format!("n{number}"));
                }
                self.society_is(revision, society);
            }
            (Ok(_), _) => {}
            (Err(WriteError::Conflict(_) | WriteError::Unknown(_)), writing) => {
                if !matches!(writing, Some(Writing::Other)) {
                    self.to_read = Some(key.to_owned());
                }
                self.failed(matches!(writing, Some(Writing::Beat(_))), now);
            }
            (Err(WriteError::TooBig { .. } | WriteError::Retry(_)), writing) => {
                self.failed(matches!(writing, Some(Writing::Beat(_))), now);
            }
        }
    }

    /// If this node's own signs of life do not come through, those of others may not come either.
    fn failed(&mut self, was_beat: bool, now: Time) {
        if was_beat {
            self.roster.have_patience(now);
        } else {
            self.not_before = now + PAUSE;
        }
    }

    /// What came of the last [`Action::Read`].
    pub fn read(&mut self, key: &str, outcome: Result<Option<(Revision, Vec<u8>)>, StoreError>, now: Time) {
        match outcome {
            // A beat whose outcome was not known had been written.
            Ok(Some((revision, _))) if key == self.my_key() => self.revision = revision,
            Ok(None) if key == self.my_key() => self.lost |= self.revision != Revision(0),
            Ok(Some((revision, bytes))) => self.key_is(key, revision, &bytes, now),
            Ok(None) => {}
            Err(_) => {
                self.to_read = Some(key.to_owned());
                self.roster.have_patience(now);
                self.not_before = now + PAUSE;
            }
        }
    }

    /// What a watch of all keys tells.
    pub fn told(&mut self, watched: Watched, now: Time) {
        match watched {
            Watched::Written(key, revision, bytes) => {
                if key == self.my_key() {
                    self.roster.heard_self(now);
                }
                self.key_is(&key, revision, &bytes, now);
            }
            Watched::Removed(key) => {
                if let Some(node) = key.strip_prefix(NODE).and_then(Nonce::parse) {
                    self.roster.removed(node, now);
                    self.lost |= node == self.terms.me && self.phase != Phase::Leaving;
                } else if let Some(node) = key.strip_prefix(DRAIN).and_then(Nonce::parse) {
                    self.draining.remove(&node);
                    self.heed_draining();
                }
            }
            Watched::Complete => self.roster.complete(now),
            Watched::Away => self.roster.away(),
            Watched::Back => self.roster.back(now),
        }
        self.is_due = true;
    }

    fn key_is(&mut self, key: &str, revision: Revision, bytes: &[u8], now: Time) {
        if let Some(node) = key.strip_prefix(NODE).and_then(Nonce::parse) {
            // What cannot be read is of a later release: somebody who lives.
            if let Ok(member) = serde_json::from_slice::<Member>(bytes) {
                self.seen_self |= node == self.terms.me;
                self.names.insert(node, member.name.clone());
                self.roster.written(node, revision, member, now);
            } else {
                self.roster.mentioned(node, now);
            }
        } else if let Some(node) = key.strip_prefix(DRAIN).and_then(Nonce::parse) {
            self.draining.insert(node, revision);
            self.heed_draining();
        } else if key == PLACEMENT {
            match Placement::decode(bytes, self.terms.layout.partitions()) {
                Ok(table) => self.table_is(revision, table, now),
                Err(error) => self.fail(error.to_string()),
            }
        } else if key == SOCIETY {
            match serde_json::from_slice(bytes) {
                Ok(society) => self.society_is(revision, society),
                Err(error) => self.fail(format!("the store does not say which society is in it: {error}")),
            }
        } else if key == FORMER_OWNER {
            if let Ok(value) = serde_json::from_slice(bytes) {
                self.former_since = now;
                self.former = Some(Version { revision, value });
            }
        } else if key == FORMER_ERASING {
            self.former_erasing = true;
        }
    }

    fn fail(&mut self, why: String) {
        self.to_do.push_back(Action::End(Ending::Failed(why)));
    }

    fn heed_draining(&mut self) {
        let drains = self.leaving || self.draining.contains_key(&self.terms.me);
        let state = if drains { MemberState::Draining } else { MemberState::Running };
        if self.me.takes_part() && self.me.state != state {
            self.me.state = state;
            self.beat_at = None;
        }
    }

    fn society_is(&mut self, revision: Revision, society: Society) {
        if self.society.as_ref().is_none_or(|known| known.revision < revision) {
            let before = self.society.as_ref().map(|known| known.value.level).filter(|_| self.phase == Phase::Serving);
            if before.is_some_and(|before| before < society.level) {
                let text = format!(
                    "all nodes know level {} of what they write for each other: from now on they do",
                    society.level
                );
                self.to_do.push_back(Action::Note(text));
            }
            self.society = Some(Version { revision, value: society });
        }
    }

    fn table_is(&mut self, revision: Revision, table: Placement, now: Time) {
        if self.table.as_ref().is_some_and(|known| known.revision >= revision) {
            return;
        }
        for node in table.nodes() {
            self.roster.mentioned(node, now);
        }
        let before = self.table.replace(Version { revision, value: table });
        self.is_due = true;
        if let Some(before) = before.filter(|_| self.phase == Phase::Serving) {
            self.note_changes(&before.value, now);
        }
    }

    /// Says what comes here and goes from here.
    fn note_changes(&mut self, before: &Placement, now: Time) {
        let Some(table) = &self.table else { return };
        let me = Some(self.terms.me);
        let mut moves: BTreeMap<(Nonce, Nonce, bool, Cause), Vec<Partition>> = BTreeMap::new();
        let changes = table.value.changes_since(before);
        for change in changes.iter().filter(|change| change.kind != ChangeKind::Planned) {
            self.pressure.moved(change, now);
            let Change { partition, from, to, kind, cause } = *change;
            if let (Some(from), Some(to)) = (from, to)
                && (Some(from) == me || Some(to) == me)
                && from != to
            {
                let taken = kind == ChangeKind::TakenOver;
                moves.entry((from, to, taken, cause)).or_default().push(partition);
            }
        }
        for ((from, to, taken, cause), partitions) in moves {
            let why = match self.roster.member(from) {
                _ if self.terms.alone => continue,
                _ if cause == Cause::Load => format!("because of load: {}, {}", self.busy(from), self.busy(to)),
                Some(member) if member.state == MemberState::Left => "which left".to_owned(),
                Some(member) if member.state == MemberState::Draining => "which drains".to_owned(),
                _ if taken => format!("{} gives no sign of life", self.name_of(from)),
                _ if cause == Cause::Wish => "where it is wanted".to_owned(),
                _ => "for balance".to_owned(),
            };
            let (which, from, to) = (list(&partitions), self.name_of(from), self.name_of(to));
            self.to_do.push_back(Action::Note(format!("{which}: {from} -> {to} ({why})")));
        }
    }

    /// How busy a node is, for people.
    fn busy(&self, node: Nonce) -> String {
        let load = self.roster.member(node).and_then(|member| member.load.as_ref());
        let busy = load.map_or("of unknown load".to_owned(), |load| format!("{} busy", load.percent()));
        format!("{} is {busy}", self.name_of(node))
    }

    /// A node's name, for people.
    fn name_of(&self, node: Nonce) -> String {
        self.names.get(&node).filter(|name| !name.is_empty()).cloned().unwrap_or_else(|| node.to_string())
    }
}

/// Partitions, for people: `partitions 1-3, 7`.
fn list(partitions: &[Partition]) -> String {
    let mut ranges: Vec<(u16, u16)> = Vec::new();
    for Partition(number) in partitions {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == *number => *last = *number,
            _ => ranges.push((*number, *number)),
        }
    }
    let range = |(first, last): &(u16, u16)| if first == last { first.to_string() } else { format!("{first}-{last}") };
    let all: Vec<String> = ranges.iter().map(range).collect();
    let word = if partitions.len() == 1 { "partition" } else { "partitions" };
    format!("{word} {}", all.join(", "))
}
