//! Admission to a society.

use std::collections::BTreeMap;

use super::{ClusterAction, MembershipEnd, Participant, Phase};
use crate::cluster::member::{MemberPhase, Nonce};
use crate::cluster::placement::Placement;
use crate::cluster::society::{FormerState, SocietyState, StoredSociety};
use crate::store::Epoch;
use crate::time::Time;

impl Participant {
    /// Checks for obstacles before the node's key is written and others know of it.
    pub(super) fn ask(&mut self, now: Time) -> Option<ClusterAction> {
        if !self.roster.is_clear() {
            return None;
        }
        if let Some(why) = self.objection() {
            return Some(self.end(MembershipEnd::Failed(why)));
        }
        if self.former_may_live(now) || self.is_strange(now) {
            return None;
        }
        self.me.name = self.terms.name.clone().unwrap_or_default();
        self.phase = Phase::Joining;
        None
    }

    /// Returns the reason why this node cannot be let in.
    fn objection(&self) -> Option<String> {
        let society = self.society.as_ref().map(|society| &society.value)?;
        if society.state != SocietyState::Running || self.terms.fresh {
            return None;
        }
        if let Some(why) = self.objection_to_level(society) {
            return Some(why);
        }
        let (kept, mine) = (&society.hints, self.terms.layout.text());
        if society.project == self.terms.project && kept != mine {
            let said = |hints: &str| if hints.is_empty() { "nothing".to_owned() } else { format!("`{hints}`") };
            return Some(format!(
                "the project's hints about places of agents differ from those that the society began with: {} now, {} then. They \
                 decide on partitions, so they must stay (--fresh deletes the society and begins anew)",
                said(mine),
                said(kept)
            ));
        }
        let (kept, mine) = (&society.project, &self.terms.project);
        (kept != mine).then(|| {
            format!(
                "the store has the society {kept}, not {mine}: a folder or address holds one society (--fresh deletes it and begins \
                 anew)"
            )
        })
    }

    /// Returns true if this node's programs differ from those of the society, or may differ: it is not let in beside
    /// them. If all nodes still ask to be let in, the one with the lowest number decides.
    fn is_strange(&mut self, now: Time) -> bool {
        let Some(difference) = self.difference() else { return false };
        let me = self.terms.me;
        let other = self.others(now).find(|(node, member)| member.number > 0 || *node < me);
        let Some(node) = other.map(|(node, _)| node) else { return false };
        if self.is_beating(node) {
            let name = self.name_of(node);
            self.fail(format!(
                "{difference}, which {name} runs: all its nodes must have the same programs. Give this node the project that the society \
                 was begun with; to begin anew with this one, end all nodes first, and use --fresh"
            ));
        }
        true
    }

    /// Returns the first program that differs from the society's, for people. `None` if all are the same, as far as
    /// known.
    fn difference(&self) -> Option<String> {
        let society = self.society.as_ref().map(|society| &society.value)?;
        let (theirs, ours) = (&society.programs, &self.terms.programs);
        if society.state != SocietyState::Running || self.terms.fresh || theirs.is_empty() || ours.is_empty() {
            return None;
        }
        let other = ours.iter().find(|(file, print)| theirs.get(*file).is_some_and(|theirs| theirs != *print));
        let more = || ours.keys().find(|file| !theirs.contains_key(*file));
        let fewer = || theirs.keys().find(|file| !ours.contains_key(*file));
        other
            .map(|(file, _)| format!("{file} is another program here than the society's"))
            .or_else(|| more().map(|file| format!("the project has {file} here, unlike the society's")))
            .or_else(|| fewer().map(|file| format!("the project has no {file} here, unlike the society's")))
    }

    /// Returns the society's programs from now on. A node that is alone brings those of its project. Agents in the
    /// store continue with the program they were written with, so that one stays.
    fn programs_of(&self, society: &StoredSociety, now: Time) -> BTreeMap<String, String> {
        if self.terms.programs.is_empty() || self.others(now).next().is_some() {
            return society.programs.clone();
        }
        let kept =
            |(file, print): (&String, &String)| (file.clone(), society.programs.get(file).unwrap_or(print).clone());
        self.terms.programs.iter().map(kept).collect()
    }

    /// Returns true if a process of a release before clusters may be running the society. Such a process does not
    /// share.
    fn former_may_live(&mut self, now: Time) -> bool {
        let Some(former) = self.former.as_ref().filter(|_| self.table.is_none() && !self.terms.alone) else {
            return false;
        };
        let (running, revision) = (former.value.state == FormerState::Running, former.revision);
        if !running || now - self.former_since >= self.terms.patience {
            return false;
        }
        match self.rival {
            Some((_, seen)) if seen != revision => {
                let node = former.value.node.clone();
                self.fail(format!("{node} runs this society with an earlier release: end it first"));
            }
            _ => self.rival = Some((self.terms.me, revision)),
        }
        true
    }

    /// Returns all other nodes that may live.
    pub(super) fn others(&self, now: Time) -> impl Iterator<Item = (Nonce, &crate::cluster::Member)> {
        self.roster.living(now).filter(|(node, _)| *node != self.terms.me)
    }

    /// Takes the next step of admission, after the node's key is written.
    pub(super) fn join(&mut self, now: Time) -> Option<ClusterAction> {
        // Keys written before this node's own are seen before it.
        if !self.seen_self || !self.roster.is_clear() || !self.has_its_name(now) {
            return None;
        }
        if let Some(why) = self.objection() {
            self.fail(why);
            return None;
        }
        if self.is_strange(now) {
            return None;
        }
        let society = self.society.as_ref().map(|society| society.value.clone());
        // A society is begun anew once.
        self.terms.fresh &= society.as_ref().is_none_or(|society| society.state == SocietyState::Running);
        let was_being_forgotten = society.is_none() && self.former_erasing;
        match society {
            None if !self.terms.fresh && !was_being_forgotten => {
                let society = self.society_of_its_own(SocietyState::Running, 1);
                Some(self.write_society(society))
            }
            Some(society) if society.state == SocietyState::Concluded => self.begin_anew(society.term, now),
            society if self.terms.fresh || was_being_forgotten => {
                let other = self.others(now).find(|(_, member)| member.takes_part()).map(|(node, _)| node);
                if let Some(node) = other {
                    return self.wait_or_refuse(node);
                }
                let term = society.map_or(1, |society| society.term);
                let society = self.society_of_its_own(SocietyState::Concluded, term);
                Some(self.write_society(society))
            }
            Some(society) if self.me.number == 0 => {
                let number = society.named.saturating_add(1);
                self.numbering = Some(number);
                let programs = self.programs_of(&society, now);
                Some(self.write_society(StoredSociety { named: number, programs, ..society }))
            }
            Some(society) => Some(self.accept(&society, now)),
            None => None,
        }
    }

    fn society_of_its_own(&self, state: SocietyState, term: u64) -> StoredSociety {
        StoredSociety {
            state,
            project: self.terms.project.clone(),
            token: self.terms.token.clone(),
            level: self.terms.level,
            term,
            hints: self.terms.layout.text().to_owned(),
            programs: self.terms.programs.clone(),
            named: 0,
        }
    }

    /// Returns true if no other node has this node's name. If one has, the node waits until that one is dead, as after
    /// a restart.
    fn has_its_name(&mut self, now: Time) -> bool {
        let named = !self.me.name.is_empty();
        let twin = self.others(now).find(|(_, member)| named && member.name == self.me.name).map(|(node, _)| node);
        let Some(node) = twin else { return true };
        if self.terms.name.is_none() {
            // Another node asked for the name that this number gives: take the next number.
            (self.me.number, self.me.name) = (0, String::new());
        } else if self.is_beating(node) {
            self.fail(format!("another node is called {}: give this one another --name", self.me.name));
        }
        false
    }

    /// Refuses `--fresh` if the other node is alive; else waits until it is dead.
    fn wait_or_refuse(&mut self, node: Nonce) -> Option<ClusterAction> {
        if self.is_beating(node) {
            let name = self.name_of(node);
            self.fail(format!("{name} runs this society: --fresh needs that no node runs it"));
        }
        None
    }

    /// Returns true if a node's key has changed since this node first looked at it.
    fn is_beating(&mut self, node: Nonce) -> bool {
        let revision = self.roster.members().find(|(found, ..)| *found == node).map(|(_, revision, _)| revision);
        let Some(revision) = revision else { return false };
        match self.rival {
            Some((rival, seen)) if rival == node => seen != revision,
            _ => {
                self.rival = Some((node, revision));
                false
            }
        }
    }

    /// Begins a society after the one before has ended. When all its nodes have left, one of those that ask to be let
    /// in erases it.
    fn begin_anew(&mut self, term: u64, now: Time) -> Option<ClusterAction> {
        let ends_still = self.others(now).any(|(_, member)| member.takes_part() && member.term == term);
        let first = self.roster.living(now).find(|(_, member)| member.state == MemberPhase::Joining);
        if ends_still || first.is_none_or(|(first, _)| first != self.terms.me) {
            return None;
        }
        match self.forgotten {
            None => self.forget(),
            // No node owns anything yet; the first owners begin a new epoch.
            Some(epoch) if self.table.as_ref().is_none_or(|table| table.value.nodes().contains(&self.terms.me)) => {
                Some(self.write_table(Placement::new(self.terms.layout.partitions(), epoch)))
            }
            Some(_) => {
                let society = self.society_of_its_own(SocietyState::Running, term.saturating_add(1));
                Some(self.write_society(society))
            }
        }
    }

    /// Takes all partitions, and has them erased.
    pub(super) fn forget(&mut self) -> Option<ClusterAction> {
        if self.forgetting {
            return None;
        }
        let me = self.terms.me;
        let mine = |table: &Placement| {
            let first = table.parts.first()?;
            table.parts.iter().all(|part| part == first && part.owner == Some(me)).then_some(first.epoch)
        };
        if let Some(epoch) =
            self.taken.filter(|taken| self.table.as_ref().and_then(|table| mine(&table.value)) == Some(*taken))
        {
            self.forgetting = true;
            return Some(ClusterAction::Forget(epoch));
        }
        let mut table = self.table_or_first();
        self.taken = Some(table.take_all(me));
        Some(self.write_table(table))
    }

    /// Returns the table; if there is none, one without owners.
    pub(super) fn table_or_first(&self) -> Placement {
        let former = self.former.as_ref().map_or(Epoch(0), |former| Epoch(former.value.epoch.into()));
        let first = || Placement::new(self.terms.layout.partitions(), former);
        self.table.as_ref().map_or_else(first, |table| table.value.clone())
    }

    fn accept(&mut self, society: &StoredSociety, now: Time) -> ClusterAction {
        self.phase = Phase::Accepted;
        self.me.term = society.term;
        (self.forgotten, self.taken) = (None, None);
        let others: Vec<&str> = self
            .others(now)
            .filter(|(_, member)| member.takes_part())
            .map(|(_, member)| member.name.as_str())
            .collect();
        if !others.is_empty() {
            let (names, verb) = (others.join(", "), if others.len() == 1 { "runs" } else { "run" });
            let what = match self.terms.standby {
                true => "waiting to take over (Ctrl-C ends that)".to_owned(),
                false => format!("joining as {}", self.me.name),
            };
            self.to_do.push_back(ClusterAction::Note(format!("{names} {verb} this society; {what}")));
        }
        ClusterAction::Accepted { name: self.me.name.clone(), token: society.token.clone() }
    }

    /// Begins to serve. Other nodes reach this one at `address` (empty if there are none).
    pub fn begin(&mut self, address: String) {
        if self.phase == Phase::Accepted {
            self.me.address = address;
            self.me.state = MemberPhase::Running;
            (self.phase, self.is_due, self.beat_at) = (Phase::Serving, true, None);
            self.heed_draining();
        }
    }
}
