//! Service of partitions, and the placer's work.

use super::levels::LEVEL_LOAD;
use super::{ClusterAction, DRAIN, LINK_AGAIN, LOOK, MembershipEnd, NODE, Participant, Phase, list};
use crate::cluster::holdings::Duties;
use crate::cluster::load::Load;
use crate::cluster::member::{Member, MemberPhase, Nonce};
use crate::cluster::placement::{OwnerCandidate, PlacementRow};
use crate::cluster::placer::{is_placer, proposal};
use crate::cluster::society::{SocietyState, StoredSociety};
use crate::durable::Pin;
use crate::store::{Epoch, Partition, Revision};
use crate::time::Time;

/// Node as another node sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeView {
    /// Number of the node.
    pub node: Nonce,
    /// Entry of the node about itself.
    pub member: Member,
    /// Death of the node: it gives no sign of life, or has left.
    pub dead: bool,
    /// Role of the placer, which writes the table.
    pub placer: bool,
    /// Number of partitions that it owns.
    pub partitions: usize,
    /// Number of those that the node is to hand over.
    pub leaving: usize,
    /// Partitions that the node owns and cannot serve.
    pub unserved: Vec<Partition>,
}

impl Participant {
    pub(super) fn serve(&mut self, now: Time) -> Option<ClusterAction> {
        if let Some(action) = self.end_of_society() {
            return action;
        }
        if let Some(why) = self.outgrown() {
            return Some(self.end(MembershipEnd::Failed(why)));
        }
        if let Some(links) = self.new_links(now) {
            return Some(ClusterAction::LinkWith(links));
        }
        if std::mem::take(&mut self.is_due)
            && let Some(action) = self.duties()
        {
            return Some(action);
        }
        if let Some(action) = self.moved(now).or_else(|| self.write_wishes()) {
            return Some(action);
        }
        if let Some((node, drains)) = self.wishes.pop() {
            return self.wish(node, drains);
        }
        if now < self.look_at {
            return None;
        }
        self.look_at = now + LOOK;
        self.note_candidates(now);
        self.tell_of_vacant(now);
        if is_placer(&self.roster, self.terms.me, now) { self.place(now) } else { None }
    }

    /// Returns what to do if the society has ended; then nothing else matters.
    fn end_of_society(&mut self) -> Option<Option<ClusterAction>> {
        let society = self.society.as_ref().map(|society| society.value.clone())?;
        if society.state == SocietyState::Running && society.term == self.me.term {
            let ended = StoredSociety { state: SocietyState::Concluded, ..society };
            return self.concluding.then(|| Some(self.write_society(ended)));
        }
        let tell = !self.concluding && !self.told_concluded;
        self.told_concluded = true;
        Some(tell.then_some(ClusterAction::Conclude))
    }

    /// Returns the nodes to link with, if they have changed or [`LINK_AGAIN`] is over: links may be lost for good.
    fn new_links(&mut self, now: Time) -> Option<Vec<(String, String)>> {
        let before_me = self
            .others(now)
            .filter(|(_, member)| member.takes_part() && member.term == self.me.term && member.number < self.me.number);
        let links: Vec<(String, String)> = before_me
            .filter(|(_, member)| !member.address.is_empty())
            .map(|(_, member)| (member.name.clone(), member.address.clone()))
            .collect();
        if links == self.linked && (links.is_empty() || now < self.link_at) {
            return None;
        }
        self.link_at = now + LINK_AGAIN;
        self.linked.clone_from(&links);
        Some(links)
    }

    /// Returns the next action to serve new partitions, or to stop serving some.
    fn duties(&mut self) -> Option<ClusterAction> {
        let raised = self.raised();
        let table = &self.table.as_ref()?.value;
        if !raised.is_empty() {
            let mut table = table.clone();
            raised.into_iter().for_each(|(partition, epoch)| table.raise(self.terms.me, partition, epoch));
            self.is_due = true;
            return Some(self.write_table(table));
        }
        let Duties { adopt, yield_up, hand_over, deposed } = self.holdings.duties(table, self.terms.me);
        if deposed {
            return Some(self.end(MembershipEnd::Deposed));
        }
        if !adopt.is_empty() {
            self.to_do.push_back(ClusterAction::Adopt(adopt));
        }
        if !yield_up.is_empty() {
            self.to_do.push_back(ClusterAction::Yield(yield_up));
        }
        if hand_over.is_empty() {
            return self.to_do.pop_front();
        }
        // The look stays due until the table is written.
        self.is_due = true;
        let mut table = self.table.as_ref()?.value.clone();
        table.hand_over(self.terms.me, &hand_over);
        Some(self.write_table(table))
    }

    /// Notes that a partition was opened in a higher epoch than the table knows: its owner must exceed that.
    pub(super) fn raise(&mut self, partition: Partition, by: Epoch) {
        self.too_low.insert(partition, by);
    }

    fn raised(&mut self) -> Vec<(Partition, Epoch)> {
        let (me, table) = (self.terms.me, self.table.as_ref().map(|table| &table.value));
        let is_low = |partition: &Partition, by: &Epoch| {
            let part = table.and_then(|table| table.part(*partition));
            part.is_some_and(|part| part.owner == Some(me) && part.epoch <= *by)
        };
        self.too_low.retain(|partition, by| is_low(partition, by));
        self.too_low.iter().map(|(partition, by)| (*partition, Epoch(by.0.saturating_add(1)))).collect()
    }

    /// Notes since when the list of candidates is unchanged.
    fn note_candidates(&mut self, now: Time) {
        let candidates: Vec<Nonce> = self.candidates(now).iter().map(|candidate| candidate.node).collect();
        if candidates != self.candidates {
            (self.candidates, self.settled) = (candidates, now);
        }
    }

    pub(super) fn candidates(&self, now: Time) -> Vec<OwnerCandidate> {
        let has = |node| self.table.as_ref().map_or(0, |table| table.value.owned_by(node));
        self.roster.candidates(has, self.terms.layout.rules(), now)
    }

    /// Returns the partitions that no node serves because none may have them, for people.
    pub fn vacant(&self, now: Time) -> Vec<String> {
        let Some(table) = self.table.as_ref().filter(|_| self.roster.is_clear()) else { return Vec::new() };
        let is_vacant = |partition: &Partition| {
            let owner = table.value.part(*partition).and_then(|part| part.owner);
            owner.is_none_or(|owner| self.roster.is_dead(owner, now))
        };
        let candidates = self.candidates(now);
        let vacant = |(pin, partitions): (&Pin, &Vec<Partition>)| {
            let vacant: Vec<Partition> = partitions.iter().copied().filter(is_vacant).collect();
            let may =
                |candidate: &OwnerCandidate| vacant.iter().any(|partition| !candidate.without.contains(partition));
            let waits = !vacant.is_empty() && !candidates.iter().any(may);
            waits.then(|| format!("{} can be served by {pin} only, and there is none: its agents wait", list(&vacant)))
        };
        self.terms.layout.rules().pins.iter().filter_map(vacant).collect()
    }

    /// Notes for people which partitions have begun to wait for a node.
    fn tell_of_vacant(&mut self, now: Time) {
        let vacant = self.vacant(now);
        for text in vacant.iter().filter(|text| !self.told_vacant.contains(text)) {
            self.to_do.push_back(ClusterAction::Note(text.clone()));
        }
        self.told_vacant = vacant;
    }

    /// Takes the placer's next step: first the table, then the keys that dead nodes left behind.
    fn place(&mut self, now: Time) -> Option<ClusterAction> {
        let table = self.table_or_first();
        if let Some(next) = proposal(&table, &self.roster, self.terms.layout.rules(), self.settled, now) {
            return Some(self.write_table(next));
        }
        if let Some(action) = self.rise(now) {
            return Some(action);
        }
        if self.level() >= LEVEL_LOAD
            && let Some(next) = self.pressure.proposal(&table, &self.roster, self.terms.layout.rules(), now)
        {
            return Some(self.write_table(next));
        }
        let is_over = |node: Nonce| node != self.terms.me && !table.names(node) && self.roster.is_dead(node, now);
        let over = self.roster.members().find(|(node, ..)| is_over(*node)).map(|(node, revision, _)| (node, revision));
        if let Some((node, revision)) = over {
            return Some(self.remove(format!("{NODE}{node}"), revision));
        }
        let unknown = |node: &Nonce| self.roster.member(*node).is_none();
        let wish = self.draining.iter().find(|(node, _)| unknown(node)).map(|(node, revision)| (*node, *revision));
        wish.map(|(node, revision)| self.remove(format!("{DRAIN}{node}"), revision))
    }

    /// Asks a node to drain, which hands over its partitions and takes no more, or to take its share again.
    ///
    /// # Errors
    /// No living node has this name.
    pub fn ask_to_drain(&mut self, name: &str, drains: bool, now: Time) -> Result<(), String> {
        let found = self.roster.living(now).find(|(_, member)| member.name == name).map(|(node, _)| node);
        let node = found.ok_or_else(|| format!("no node here is called {name}"))?;
        self.wishes.push((node, drains));
        Ok(())
    }

    fn wish(&mut self, node: Nonce, drains: bool) -> Option<ClusterAction> {
        let key = format!("{DRAIN}{node}");
        match (self.draining.get(&node).copied(), drains) {
            (None, true) => Some(self.write_other(key, Revision(0), Vec::new())),
            (Some(revision), false) => Some(self.remove(key, revision)),
            _ => None,
        }
    }

    /// Prepares to leave: this node's partitions go to other nodes, if there are any, until
    /// [`Participant::has_handed_over`].
    pub fn prepare_to_leave(&mut self) {
        self.leaving = true;
        self.heed_draining();
    }

    /// Returns true if every partition that another node may take is handed over.
    pub fn has_handed_over(&self, now: Time) -> bool {
        if self.phase != Phase::Serving {
            return true;
        }
        let me = self.terms.me;
        let is_told = self.roster.member(me).is_none_or(|me| me.state != MemberPhase::Running);
        let candidates = self.candidates(now);
        let goes = |(partition, part): (Partition, &PlacementRow)| {
            let is_mine = part.owner == Some(me) || part.next == Some(me);
            is_mine && candidates.iter().any(|other| !other.without.contains(&partition))
        };
        let table = self.table.as_ref().map(|table| &table.value);
        let has_nothing = self.holdings.is_empty() && table.is_none_or(|table| !table.names(me));
        has_nothing || is_told && self.roster.is_clear() && table.is_none_or(|table| !table.iter().any(goes))
    }

    /// Sets the number of agents on this node.
    pub fn set_agents(&mut self, agents: u64) {
        self.me.agents = agents;
    }

    /// Sets the weight of this node beside others.
    pub fn set_weight(&mut self, weight: u32) {
        self.me.weight = weight;
    }

    /// Sets the load of this node, if known.
    pub fn set_load(&mut self, load: Option<Load>) {
        self.me.load = load;
    }

    /// Returns all nodes, as this one sees them.
    pub fn nodes(&self, now: Time) -> Vec<NodeView> {
        let table = self.table.as_ref().map(|table| &table.value);
        let placer = self.roster.living(now).find(|(_, member)| member.takes_part()).map(|(node, _)| node);
        let count = |node: Nonce, leaving: bool| {
            let has = |part: &&PlacementRow| part.owner == Some(node) && (!leaving || part.next.is_some());
            table.map_or(0, |table| table.parts.iter().filter(has).count())
        };
        let has = |node, partition| {
            let part = table.and_then(|table| table.part(partition));
            part.is_some_and(|part| part.owner == Some(node))
        };
        let view = |(node, _, member): (Nonce, Revision, &Member)| NodeView {
            node,
            member: member.clone(),
            dead: self.roster.is_dead(node, now),
            placer: placer == Some(node),
            partitions: count(node, false),
            leaving: count(node, true),
            unserved: member.unreadable().filter(|partition| has(node, *partition)).collect(),
        };
        self.roster.members().map(view).collect()
    }
}
