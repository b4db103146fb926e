//! Families of agents: quotas of how many agents descend from one root agent, and how fast they are created.
//!
//! A quota counts the family, not the creator: a program that creates agents which create agents is one family. Each
//! creation has a price in time. When a family owes more than a burst of creations costs, newcomers and their creators
//! wait until that is paid. A creator is refused if its family owes more than a second, or has as many agents as it
//! may. Creations by the root agent are free unless a policy says otherwise: their number grows with time, while that
//! of agents which create agents explodes. A family that does not stop at refusals is condemned: all of it ends.

use std::time::Duration;

use rustc_hash::FxHashMap;
use whimbrel_acl::Symbol;

use super::members::{FamilyNumber, Members};
use crate::Time;
use crate::limits::{FAMILY_CREATIONS_BURST, FAMILY_CREATIONS_PER_S, FAMILY_LATE_MS, FAMILY_REFUSALS_PER_S_MAX};
use crate::policy::OwnerTerms;
use crate::services::CreateError;

/// Families of agents, by their root. An agent that nobody created needs no entry.
#[derive(Clone, Debug, Default)]
pub(super) struct Families {
    members: Members,
    families: Vec<Family>,
    /// Numbers of families that ended, for others.
    free: Vec<FamilyNumber>,
    by_root: FxHashMap<Symbol, FamilyNumber>,
    condemned: Vec<Symbol>,
    /// Time at which the creations of all families are paid for.
    all_paid: Time,
}

#[derive(Clone, Debug)]
struct Family {
    root: Symbol,
    agents_max: u32,
    creations_per_s: u32,
    /// Free creations by the root agent.
    is_first_free: bool,
    living: u32,
    /// Time at which all creations so far are paid for.
    paid: Time,
    /// Refusals since this time.
    refused: (Time, u32),
    is_condemned: bool,
}

impl Family {
    fn new(root: Symbol, terms: &OwnerTerms) -> Self {
        Self {
            root,
            agents_max: terms.agents,
            creations_per_s: terms.creations_per_s.unwrap_or(FAMILY_CREATIONS_PER_S).max(1),
            is_first_free: terms.creations_per_s.is_none(),
            living: 0,
            paid: Time::ZERO,
            refused: (Time::ZERO, 0),
            is_condemned: false,
        }
    }

    /// Returns the price of this number of creations, as time.
    fn price(&self, count: u32) -> Duration {
        Duration::from_secs(1) * count / self.creations_per_s
    }

    /// Returns the reason why the family may not have one more agent now, if it may not.
    fn objection(&self, now: Time) -> Option<CreateError> {
        if self.living >= self.agents_max || self.is_condemned {
            return Some(CreateError::TooManyOfOwner { owner: self.root, agents_max: self.agents_max });
        }
        let is_late = self.paid > now + Duration::from_millis(FAMILY_LATE_MS);
        is_late.then_some(CreateError::TooFast { owner: self.root, creations_per_s: self.creations_per_s })
    }

    /// Charges one creation. Unused time is good for a burst.
    fn pay(&mut self, now: Time) {
        let burst = self.price(FAMILY_CREATIONS_BURST.min(self.creations_per_s));
        self.paid = self.paid.max(Time(now.0.saturating_sub(burst.as_micros() as u64))) + self.price(1);
    }

    /// Counts a refusal. Returns true if it was one too many.
    fn refuse(&mut self, now: Time) -> bool {
        let (since, count) = &mut self.refused;
        if now > *since + Duration::from_secs(1) {
            (*since, *count) = (now, 0);
        }
        *count += 1;
        *count > FAMILY_REFUSALS_PER_S_MAX && !std::mem::replace(&mut self.is_condemned, true)
    }
}

impl Families {
    /// Returns the root of the family in which this agent creates others.
    pub fn root_of(&self, agent: Symbol) -> Symbol {
        self.family_of(agent).map_or(agent, |family| family.root)
    }

    fn family_of(&self, agent: Symbol) -> Option<&Family> {
        self.families.get(self.members.get(agent)? as usize)
    }

    /// Returns the number of this root's family, which begins with its first agent.
    fn number_of(&mut self, root: Symbol, terms: impl FnOnce(Symbol) -> OwnerTerms) -> FamilyNumber {
        if let Some(number) = self.by_root.get(&root) {
            return *number;
        }
        let family = Family::new(root, &terms(root));
        let number = self.free.pop().unwrap_or(self.families.len() as FamilyNumber);
        match self.families.get_mut(number as usize) {
            Some(ended) => *ended = family,
            None => self.families.push(family),
        }
        self.by_root.insert(root, number);
        number
    }

    /// Takes in an agent that `parent` creates, on the terms of the one from which both descend.
    pub fn join(
        &mut self,
        name: Symbol,
        parent: Symbol,
        now: Time,
        terms: impl FnOnce(Symbol) -> OwnerTerms,
    ) -> Result<(), CreateError> {
        let number = self.members.get(parent).unwrap_or_else(|| self.number_of(parent, terms));
        let Some(family) = self.families.get_mut(number as usize) else { return Ok(()) };
        if let Some(objection) = family.objection(now) {
            if family.refuse(now) {
                self.condemned.push(family.root);
            }
            return Err(objection);
        }
        if parent != family.root || !family.is_first_free {
            family.pay(now);
            self.all_paid = self.all_paid.max(family.paid);
        }
        // An agent that has the name of its family's root is the root.
        if family.root != name {
            family.living += 1;
            self.members.insert(name, number);
        }
        Ok(())
    }

    /// Takes in an agent whatever its family owes: it existed before, or another node promised it to its creator. An
    /// agent is counted once, even if it was promised on this node before it came.
    pub fn take_in(
        &mut self,
        name: Symbol,
        parent: Symbol,
        terms: impl FnOnce(Symbol) -> OwnerTerms,
        exists: impl Fn(Symbol) -> bool,
    ) {
        let root = self.root_of(parent);
        let before = self.family_of(name).map(|family| family.root);
        if before == Some(root) {
            return;
        }
        if before.is_some() {
            self.leave(name, exists);
        }
        if root != name {
            let number = self.number_of(root, terms);
            if let Some(family) = self.families.get_mut(number as usize) {
                family.living += 1;
                self.members.insert(name, number);
            }
        }
    }

    /// Returns when the last creation of this agent's family is paid for; `None` if it is.
    pub fn due(&self, name: Symbol, now: Time) -> Option<Time> {
        if self.all_paid <= now {
            return None;
        }
        let family = self.family_of(name)?;
        (family.paid > now).then_some(family.paid)
    }

    /// Removes an agent that is gone. A family and its debts last as long as it has agents, or its root agent `exists`
    /// on some node.
    pub fn leave(&mut self, name: Symbol, exists: impl Fn(Symbol) -> bool) {
        if self.by_root.is_empty() {
            return;
        }
        let mut others = self.by_root.len();
        if let Some(number) = self.members.remove(name)
            && let Some(family) = self.families.get_mut(number as usize)
        {
            others -= 1;
            family.living = family.living.saturating_sub(1);
            if family.living == 0 {
                let root = family.root;
                self.end_if_empty(root, &exists);
            }
        }
        if others > 0 {
            self.end_if_empty(name, &exists);
        }
    }

    fn end_if_empty(&mut self, root: Symbol, exists: &impl Fn(Symbol) -> bool) {
        let Some(number) = self.by_root.get(&root).copied() else { return };
        let is_empty = self.families.get(number as usize).is_some_and(|family| family.living == 0);
        if is_empty && !exists(root) {
            self.by_root.remove(&root);
            self.free.push(number);
        }
    }

    /// Takes a condemned family's root and agents, once.
    pub fn take_condemned(&mut self) -> Option<(Symbol, Vec<Symbol>)> {
        let root = self.condemned.pop()?;
        let members = self.by_root.get(&root).map(|number| self.members.of(*number).collect());
        Some((root, members.unwrap_or_default()))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use whimbrel_acl::Aid;

    use super::super::{AgentKind, AgentState, Ams, NewAgent};
    use super::*;
    use crate::EndReason;
    use crate::route::NodeId;

    const SECOND: Duration = Duration::from_secs(1);

    fn terms(agents: u32, creations_per_s: u32) -> impl Fn(Symbol) -> OwnerTerms {
        move |_| OwnerTerms { agents, creations_per_s: Some(creations_per_s), ..OwnerTerms::default() }
    }

    fn name(number: u32) -> Symbol {
        Symbol::new(&format!("family-{number}"))
    }

    #[test]
    fn descendants_count_for_their_root() {
        let (mut families, terms) = (Families::default(), terms(3, 1_000));
        for number in 0..3 {
            families.join(name(number + 1), name(number), Time::ZERO, &terms).unwrap();
        }
        let refused = families.join(name(4), name(3), Time::ZERO, &terms);
        assert_eq!(refused, Err(CreateError::TooManyOfOwner { owner: name(0), agents_max: 3 }));
        assert!(families.join(name(9), name(8), Time::ZERO, &terms).is_ok(), "that is another family");
        families.leave(name(1), |_| true);
        assert!(families.join(name(4), name(3), Time::ZERO, &terms).is_ok(), "one left");
    }

    #[test]
    fn fast_creators_wait_and_are_refused() {
        let (mut families, terms) = (Families::default(), terms(u32::MAX, 1_000));
        let mut now = Time::ZERO + SECOND * 100;
        let mut created = 0;
        while families.join(name(created + 1), name(0), now, &terms).is_ok() {
            created += 1;
            let waits = families.due(name(created), now).is_some();
            assert_eq!(waits, created > FAMILY_CREATIONS_BURST, "{created}");
        }
        assert_eq!(created, FAMILY_CREATIONS_BURST + 1_000 + 1);
        now = now + SECOND;
        assert!(families.join(name(created + 1), name(0), now, &terms).is_ok(), "it is paid for");
    }

    #[test]
    fn root_agent_creates_for_free() {
        let (mut families, now) = (Families::default(), Time::ZERO + SECOND * 100);
        let terms = |_| OwnerTerms::default();
        for number in 1..=50_000 {
            families.join(name(number), name(0), now, terms).unwrap();
            assert_eq!(families.due(name(number), now), None);
        }
        for number in 0..=FAMILY_CREATIONS_BURST {
            families.join(name(60_000 + number), name(1), now, terms).unwrap();
        }
        families.join(name(70_000), name(0), now, terms).unwrap();
        assert!(families.due(name(70_000), now).is_some(), "it waits for its family's debts");
    }

    #[test]
    fn existing_agent_is_taken_in() {
        let (mut families, terms) = (Families::default(), terms(2, 1));
        (1..=5).for_each(|number| families.take_in(name(number), name(number - 1), &terms, |_| true));
        let refused = families.join(name(6), name(0), Time::ZERO, &terms);
        assert_eq!(refused, Err(CreateError::TooManyOfOwner { owner: name(0), agents_max: 2 }));
        (1..=5).for_each(|number| families.leave(name(number), |_| true));
        assert!(families.join(name(6), name(0), Time::ZERO, &terms).is_ok());
    }

    #[test]
    fn debts_last_until_root_ends() {
        let (mut families, terms) = (Families::default(), terms(10, 1));
        let now = Time::ZERO + SECOND * 100;
        for number in [1, 2] {
            families.join(name(number), name(0), now, &terms).unwrap();
            families.leave(name(number), |_| true);
        }
        families.join(name(3), name(0), now, &terms).unwrap();
        assert!(families.due(name(3), now).is_some());
        families.leave(name(0), |_| false);
        families.leave(name(3), |_| false);
        assert!(families.by_root.is_empty() && families.members.is_empty());
    }

    #[test]
    fn family_ends_with_last_agent() {
        let (mut families, terms) = (Families::default(), terms(10, 1_000));
        families.join(name(1), name(0), Time::ZERO, &terms).unwrap();
        families.leave(name(1), |_| true);
        families.leave(name(0), |_| false);
        assert!(families.by_root.is_empty(), "its root left last");
        assert!(families.join(name(4), name(3), Time::ZERO, &terms).is_ok());
        assert_eq!(
            (families.families.len(), families.root_of(name(4))),
            (1, name(3)),
            "its number is another family's"
        );
    }

    #[test]
    fn family_that_ignores_refusals_is_condemned() {
        let (mut families, terms) = (Families::default(), terms(2, 1_000));
        let join = |families: &mut Families, now| families.join(name(7), name(1), now, &terms).is_err();
        for number in 0..2 {
            families.join(name(number + 1), name(number), Time::ZERO, &terms).unwrap();
        }
        for seconds in 0..FAMILY_REFUSALS_PER_S_MAX {
            assert!(join(&mut families, Time::ZERO + SECOND * 2 * seconds));
        }
        assert_eq!(families.take_condemned(), None, "it is refused now and then");
        let late = Time::ZERO + SECOND * 1_000_000;
        (0..=FAMILY_REFUSALS_PER_S_MAX).for_each(|_| assert!(join(&mut families, late)));
        let (root, mut members) = families.take_condemned().unwrap();
        members.sort_by_key(|name| name.as_str());
        assert_eq!((root, members), (name(0), vec![name(1), name(2)]));
        families.leave(name(2), |_| true);
        assert!(join(&mut families, late) && families.take_condemned().is_none(), "all of it ends");
    }

    #[test]
    fn family_outlives_last_child() {
        let mut ams = Ams::new("home");
        let new = |number| NewAgent::new(name(number), AgentKind::Native);
        ams.create(new(0), Time::ZERO).unwrap();
        ams.create(NewAgent { owner: name(0), ..new(1) }, Time::ZERO).unwrap();
        ams.handle_ended(Aid::local(name(1)), EndReason::Finished);
        assert!(ams.families.by_root.contains_key(&name(0)), "its debts are not forgiven");
        ams.handle_left(name(0), Some(OTHER));
        assert!(ams.families.by_root.contains_key(&name(0)), "its root lives elsewhere");
        ams.handle_ended_elsewhere(&name(0).into(), OTHER);
        assert!(ams.families.by_root.is_empty());
    }

    const OTHER: NodeId = NodeId(1);

    /// Agent of the random walk: its family's root, whether its family counts it, and whether it lives on this node.
    #[derive(Clone, Copy)]
    struct WalkedAgent {
        root: Symbol,
        counts: bool,
        is_here: bool,
    }

    #[derive(Default)]
    struct Walk {
        agents: BTreeMap<u32, WalkedAgent>,
    }

    impl Walk {
        fn root_of(&self, number: u32) -> Symbol {
            self.agents.get(&number).filter(|agent| agent.counts).map_or(name(number), |agent| agent.root)
        }

        fn step(&mut self, ams: &mut Ams, (step, number, parent): (u8, u32, u32)) {
            let (agent, aid, now) = (name(number), Aid::local(name(number)), Time::ZERO);
            let new = NewAgent::new(agent, AgentKind::Native);
            let child = NewAgent { owner: name(parent), ..new };
            let root = self.root_of(parent);
            match (step, self.agents.get(&number).copied()) {
                (0, None) => {
                    ams.create(new, now).unwrap();
                    self.agents.insert(number, WalkedAgent { root: agent, counts: false, is_here: true });
                }
                (1, None) if number != parent => {
                    ams.create(child, now).unwrap();
                    self.agents.insert(number, WalkedAgent { root, counts: root != agent, is_here: true });
                }
                (2, None) if number != parent => {
                    ams.handle_awaited(child, Some(OTHER), now, true).unwrap();
                    self.agents.insert(number, WalkedAgent { root, counts: root != agent, is_here: false });
                }
                (3, Some(WalkedAgent { is_here: true, .. })) => {
                    ams.handle_ended(aid, EndReason::Finished);
                    self.agents.remove(&number);
                }
                (4, Some(WalkedAgent { is_here: true, root, .. })) => {
                    ams.handle_left(agent, Some(OTHER));
                    self.agents.insert(number, WalkedAgent { root, counts: false, is_here: false });
                }
                (5, Some(WalkedAgent { is_here: false, root, .. })) => {
                    let new = NewAgent { root, ..new };
                    let root = ams.root_of(root);
                    ams.handle_arrived(new, OTHER, AgentState::Active, now, Duration::ZERO);
                    self.agents.insert(number, WalkedAgent { root, counts: root != agent, is_here: true });
                }
                (6, Some(WalkedAgent { is_here: false, .. })) => {
                    ams.handle_ended_elsewhere(&agent.into(), OTHER);
                    self.agents.remove(&number);
                }
                (7, _) if number == 0 => {
                    ams.handle_node_lost(OTHER);
                    self.agents.retain(|_, agent| agent.is_here);
                }
                _ => {}
            }
        }

        fn check(&self, ams: &Ams) {
            let mut living: BTreeMap<&str, u32> = BTreeMap::new();
            for agent in self.agents.values().filter(|agent| agent.counts) {
                *living.entry(agent.root.as_str()).or_default() += 1;
            }
            let Families { families, by_root, .. } = &ams.families;
            let families = by_root.iter().map(|(root, number)| (*root, &families[*number as usize]));
            let found = families.clone().filter(|(_, family)| family.living > 0);
            let found: BTreeMap<&str, u32> = found.map(|(root, family)| (root.as_str(), family.living)).collect();
            assert_eq!(found, living);
            for (root, family) in families {
                assert_eq!(family.root, root);
                assert!(family.living > 0 || ams.exists(Aid::local(root)), "family of {root} stays");
            }
        }
    }

    proptest! {
        #[test]
        fn families_count_their_agents(steps in proptest::collection::vec((0..8_u8, 0..6_u32, 0..6_u32), 1..120)) {
            let (mut ams, mut walk) = (Ams::new("home"), Walk::default());
            for step in steps {
                walk.step(&mut ams, step);
                walk.check(&ams);
            }
        }
    }
}
