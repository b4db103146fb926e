//! Participant: one node's part in the cluster, as a state machine.

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
use super::member::{Member, MemberPhase, Nonce};
use super::placement::{Cause, ChangeKind, Placement, RowChange};
use super::relief::Pressure;
use super::roster::Roster;
use super::society::{FormerOwner, StoredSociety};
use crate::durable::Layout;
use crate::mobility::HopError;
use crate::store::{Epoch, Partition, Revision, StoreError, WatchNotice, WriteError};
use crate::time::Time;

/// Key of the placement table.
pub const PLACEMENT: &str = "placement";
/// Key of the [`StoredSociety`].
pub const SOCIETY: &str = "society";
/// Prefix of the nodes' keys, before their numbers.
pub const NODE: &str = "node/";
/// Prefix of the keys that ask nodes to drain.
pub const DRAIN: &str = "drain/";
/// Key of a store's only owner, in releases before clusters.
const FORMER_OWNER: &str = "owner";
/// Key that those releases kept while they erased a society.
const FORMER_ERASING: &str = "erasing";

/// Interval of a node's signs of life.
pub const BEAT: Duration = Duration::from_millis(250);
/// Pause before a failed action is tried again.
pub const PAUSE: Duration = Duration::from_millis(100);
/// Interval at which the nodes to link with are repeated.
const LINK_AGAIN: Duration = Duration::from_secs(1);
/// Interval at which the placer looks at the table.
const LOOK: Duration = Duration::from_millis(100);

/// Terms on which a node takes part in the cluster.
#[derive(Clone, Debug)]
pub struct ClusterTerms {
    /// Number of the node.
    pub me: Nonce,
    /// Name of the node, if it was given one.
    pub name: Option<String>,
    /// Level of what the node writes for other nodes: [`LEVEL`].
    pub level: u32,
    /// Weight of the node beside others: its share of the partitions.
    pub weight: u32,
    /// Role of a standby, which serves only if no ordinary node does.
    pub standby: bool,
    /// Request to erase the society in the store first; refused if any node lives.
    pub fresh: bool,
    /// Exclusive use of the store by this process: all other nodes in the store count as dead.
    pub alone: bool,
    /// Silence after which a node counts as dead.
    pub patience: Duration,
    /// Project that the society runs.
    pub project: String,
    /// Fingerprints of the programs of the project's durable agents, by file.
    pub programs: BTreeMap<String, String>,
    /// Token for links, used if this is the first node.
    pub token: String,
    /// Machine and process, for people.
    pub process: String,
    /// Layout of the store's partitions, with placement rules.
    pub layout: Layout,
    /// Labels of the node.
    pub labels: Vec<String>,
}

/// Action that the driver of a [`Participant`] carries out next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClusterAction {
    /// Write a key, then call [`Participant::wrote`].
    Write(String, Revision, Vec<u8>),
    /// Remove a key, then call [`Participant::wrote`] with revision 0.
    Remove(String, Revision),
    /// Read a key, then call [`Participant::read`].
    Read(String),
    /// Serve these partitions, then call [`Participant::adopted`].
    Adopt(Vec<(Partition, Epoch)>),
    /// Stop serving these partitions, then call [`Participant::yielded`].
    Yield(Vec<Partition>),
    /// Erase all partitions, which this node owns in this epoch, then call [`Participant::forgot`].
    Forget(Epoch),
    /// Prepare to serve and to be linked with, because the node was let in; then call [`Participant::begin`].
    Accepted {
        /// Name of the node in the society.
        name: String,
        /// Token that opens links.
        token: String,
    },
    /// Link with these nodes, which came before this one: name and address of each. Repeated from time to time.
    LinkWith(Vec<(String, String)>),
    /// Report the outcome of a [requested move](Participant::ask_to_move) of a partition to another node.
    Moved {
        /// Partition that should move.
        partition: Partition,
        /// Node that should serve it.
        to: Nonce,
        /// Success if that node serves it, else the reason.
        outcome: Result<(), HopError>,
    },
    /// Tell people of an event.
    Note(String),
    /// End this node, because the society has ended on another node; then call [`Participant::leave`].
    Conclude,
    /// Stop: nothing more is to be done.
    End(MembershipEnd),
}

/// Ending of a node's part in the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MembershipEnd {
    /// Voluntary departure.
    Left,
    /// Deposition: other nodes took it for dead.
    Deposed,
    /// Failure: the node was not let in, or cannot serve its partitions.
    Failed(String),
}

/// Value with the revision of the write that made it.
#[derive(Debug)]
struct Version<T> {
    revision: Revision,
    value: T,
}

/// Last write, until its outcome is known.
#[derive(Debug)]
enum Writing {
    Beat(Member),
    Table(Placement),
    Society(StoredSociety),
    Other,
}

/// Phase of a node's part in the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Looking around, unknown to other nodes.
    Asking,
    /// Asking to be let in: its key is written.
    Joining,
    /// Let in, and preparing to serve.
    Accepted,
    /// Serving partitions.
    Serving,
    /// Leaving: it has stopped serving, and says so when the rest is done.
    Leaving,
    /// Ended.
    Ended,
}

/// Node's part in the cluster, as a state machine without I/O.
///
/// Inputs: every notice of a watch of all keys ([`Participant::told`]), and the time with each call.
///
/// Commands: [`Participant::begin`] when the node is ready to serve, [`Participant::ask_to_move`] and
/// [`Participant::ask_to_drain`] for wishes, [`Participant::prepare_to_leave`] and [`Participant::leave`] at the end,
/// [`Participant::conclude`] to end the society.
///
/// Outputs: one [`ClusterAction`] at a time from [`Participant::act`]. Each variant names the function that takes its
/// outcome ([`Participant::wrote`], [`Participant::read`], [`Participant::adopted`], ...).
///
/// Order: after each input, outcome or command, and at least every [`PAUSE`], call [`Participant::act`] until it
/// returns `None`. Only one write is under way at a time. After [`ClusterAction::End`], nothing follows.
#[derive(Debug)]
pub struct Participant {
    terms: ClusterTerms,
    phase: Phase,
    roster: Roster,
    holdings: Holdings,
    table: Option<Version<Placement>>,
    society: Option<Version<StoredSociety>>,
    former: Option<Version<FormerOwner>>,
    former_since: Time,
    former_erasing: bool,
    /// Names of all nodes ever seen.
    names: BTreeMap<Nonce, String>,
    me: Member,
    revision: Revision,
    /// Time of the next sign of life; `None` if at once.
    beat_at: Option<Time>,
    writing: Option<Writing>,
    to_read: Option<String>,
    /// Time before which nothing that failed is tried again.
    not_before: Time,
    /// Due look at the table, which may ask something of this node.
    is_due: bool,
    look_at: Time,
    /// Nodes that could be given partitions; `settled` is the time since when the list is unchanged.
    candidates: Vec<Nonce>,
    settled: Time,
    pressure: Pressure,
    linked: Vec<(String, String)>,
    link_at: Time,
    draining: BTreeMap<Nonce, Revision>,
    /// Loss of this node's key: it was removed.
    lost: bool,
    /// End of the society, as far as this node knows.
    concluding: bool,
    told_concluded: bool,
    /// Epoch in which this node, as owner of all partitions, erased them.
    forgotten: Option<Epoch>,
    forgetting: bool,
    /// Departure of the node, for which it drains.
    leaving: bool,
    /// Actions that come before all others.
    to_do: VecDeque<ClusterAction>,
    /// Nodes to ask to drain, or to drain no longer.
    wishes: Vec<(Nonce, bool)>,
    /// Moves of partitions that callers on this node wait for.
    asks: Vec<Ask>,
    /// Partitions whose wish is to be taken back.
    frees: Vec<(Partition, Option<Nonce>)>,
    /// Partitions that were found opened in a higher epoch than the table says.
    too_low: BTreeMap<Partition, Epoch>,
    /// Notes already given about partitions that wait for a node.
    told_vacant: Vec<String>,
    /// Epoch in which this node took all partitions, to erase them.
    taken: Option<Epoch>,
    /// Proof that the watch works: it has shown this node's own key.
    seen_self: bool,
    /// Number of the node, while it is being written.
    numbering: Option<u64>,
    /// Node that may be alive, with the revision of its key at the first look.
    rival: Option<(Nonce, Revision)>,
}

impl Participant {
    /// Returns a participant that has not looked around yet.
    pub fn new(terms: ClusterTerms, now: Time) -> Self {
        let roster = if terms.alone { Roster::alone(terms.me) } else { Roster::new(terms.patience) };
        let me = Member {
            name: String::new(),
            address: String::new(),
            level: terms.level,
            weight: terms.weight,
            state: MemberPhase::Joining,
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

    /// Returns the next action; `None` if there is none now.
    pub fn act(&mut self, now: Time) -> Option<ClusterAction> {
        if self.phase == Phase::Ended {
            return None;
        }
        self.roster.look(now);
        if self.lost {
            return Some(self.end(MembershipEnd::Deposed));
        }
        if self.writing.is_some() {
            return None;
        }
        if let Some(action) = self.to_do.pop_front() {
            return Some(match action {
                ClusterAction::End(ending) => self.end(ending),
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
            return Some(ClusterAction::Read(key));
        }
        match self.phase {
            Phase::Asking => self.ask(now),
            Phase::Joining => self.join(now),
            Phase::Accepted | Phase::Ended => None,
            Phase::Serving => self.serve(now),
            Phase::Leaving => self.finish(now),
        }
    }

    fn end(&mut self, ending: MembershipEnd) -> ClusterAction {
        self.phase = Phase::Ended;
        ClusterAction::End(ending)
    }

    fn beat(&mut self, now: Time) -> ClusterAction {
        self.beat_at = Some(now + BEAT);
        let me = Member { beat: self.me.beat + 1, ..self.me.clone() };
        let bytes = serde_json::to_vec(&me).unwrap_or_default();
        self.writing = Some(Writing::Beat(me));
        ClusterAction::Write(self.my_key(), self.revision, bytes)
    }

    fn my_key(&self) -> String {
        format!("{NODE}{}", self.terms.me)
    }

    fn write_table(&mut self, table: Placement) -> ClusterAction {
        let revision = self.table.as_ref().map_or(Revision(0), |table| table.revision);
        let bytes = table.encode();
        self.writing = Some(Writing::Table(table));
        ClusterAction::Write(PLACEMENT.to_owned(), revision, bytes)
    }

    fn write_society(&mut self, society: StoredSociety) -> ClusterAction {
        let revision = self.society.as_ref().map_or(Revision(0), |society| society.revision);
        let bytes = serde_json::to_vec(&society).unwrap_or_default();
        self.writing = Some(Writing::Society(society));
        ClusterAction::Write(SOCIETY.to_owned(), revision, bytes)
    }

    fn write_other(&mut self, key: String, revision: Revision, value: Vec<u8>) -> ClusterAction {
        self.writing = Some(Writing::Other);
        ClusterAction::Write(key, revision, value)
    }

    fn remove(&mut self, key: String, revision: Revision) -> ClusterAction {
        self.writing = Some(Writing::Other);
        ClusterAction::Remove(key, revision)
    }

    /// Takes in the outcome of the last [`ClusterAction::Write`] or [`ClusterAction::Remove`].
    pub fn wrote(&mut self, key: &str, outcome: Result<Revision, WriteError>, now: Time) {
        let writing = self.writing.take();
        let numbering = self.numbering.take();
        match (outcome, writing) {
            (Ok(revision), Some(Writing::Beat(me))) => {
                (self.me.beat, self.revision) = (me.beat, revision);
                // Changes made during the write are written next.
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

    /// Handles a failed write. If this node's own signs of life do not come through, those of others may not come
    /// either.
    fn failed(&mut self, was_beat: bool, now: Time) {
        if was_beat {
            self.roster.have_patience(now);
        } else {
            self.not_before = now + PAUSE;
        }
    }

    /// Takes in the outcome of the last [`ClusterAction::Read`].
    pub fn read(&mut self, key: &str, outcome: Result<Option<(Revision, Vec<u8>)>, StoreError>, now: Time) {
        match outcome {
            // A beat of unknown outcome had been written.
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

    /// Takes in a notice of the watch of all keys.
    pub fn told(&mut self, watched: WatchNotice, now: Time) {
        match watched {
            WatchNotice::Written(key, revision, bytes) => {
                if key == self.my_key() {
                    self.roster.heard_self(now);
                }
                self.key_is(&key, revision, &bytes, now);
            }
            WatchNotice::Removed(key) => {
                if let Some(node) = key.strip_prefix(NODE).and_then(Nonce::parse) {
                    self.roster.removed(node, now);
                    self.lost |= node == self.terms.me && self.phase != Phase::Leaving;
                } else if let Some(node) = key.strip_prefix(DRAIN).and_then(Nonce::parse) {
                    self.draining.remove(&node);
                    self.heed_draining();
                }
            }
            WatchNotice::Complete => self.roster.complete(now),
            WatchNotice::Away => self.roster.away(),
            WatchNotice::Back => self.roster.back(now),
        }
        self.is_due = true;
    }

    fn key_is(&mut self, key: &str, revision: Revision, bytes: &[u8], now: Time) {
        if let Some(node) = key.strip_prefix(NODE).and_then(Nonce::parse) {
            // An unreadable key belongs to a later release: a living node.
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
        self.to_do.push_back(ClusterAction::End(MembershipEnd::Failed(why)));
    }

    fn heed_draining(&mut self) {
        let drains = self.leaving || self.draining.contains_key(&self.terms.me);
        let state = if drains { MemberPhase::Draining } else { MemberPhase::Running };
        if self.me.takes_part() && self.me.state != state {
            self.me.state = state;
            self.beat_at = None;
        }
    }

    fn society_is(&mut self, revision: Revision, society: StoredSociety) {
        if self.society.as_ref().is_none_or(|known| known.revision < revision) {
            let before = self.society.as_ref().map(|known| known.value.level).filter(|_| self.phase == Phase::Serving);
            if before.is_some_and(|before| before < society.level) {
                let text =
                    format!("all nodes know level {} of the stored formats: from now on they use it", society.level);
                self.to_do.push_back(ClusterAction::Note(text));
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

    /// Notes for people which partitions come to this node and leave it.
    fn note_changes(&mut self, before: &Placement, now: Time) {
        let Some(table) = &self.table else { return };
        let me = Some(self.terms.me);
        let mut moves: BTreeMap<(Nonce, Nonce, bool, Cause), Vec<Partition>> = BTreeMap::new();
        let changes = table.value.changes_since(before);
        for change in changes.iter().filter(|change| change.kind != ChangeKind::Planned) {
            self.pressure.moved(change, now);
            let RowChange { partition, from, to, kind, cause } = *change;
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
                Some(member) if member.state == MemberPhase::Left => "which left".to_owned(),
                Some(member) if member.state == MemberPhase::Draining => "which drains".to_owned(),
                _ if taken => format!("{} gives no sign of life", self.name_of(from)),
                _ if cause == Cause::Wish => "where it is wanted".to_owned(),
                _ => "for balance".to_owned(),
            };
            let (which, from, to) = (list(&partitions), self.name_of(from), self.name_of(to));
            self.to_do.push_back(ClusterAction::Note(format!("{which}: {from} -> {to} ({why})")));
        }
    }

    /// Returns a node's load, for people.
    fn busy(&self, node: Nonce) -> String {
        let load = self.roster.member(node).and_then(|member| member.load.as_ref());
        let busy = load.map_or("of unknown load".to_owned(), |load| format!("{} busy", load.percent()));
        format!("{} is {busy}", self.name_of(node))
    }

    /// Returns a node's name, for people.
    fn name_of(&self, node: Nonce) -> String {
        self.names.get(&node).filter(|name| !name.is_empty()).cloned().unwrap_or_else(|| node.to_string())
    }
}

/// Lists partitions for people: `partitions 1-3, 7`.
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
