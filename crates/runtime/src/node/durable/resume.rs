//! Restoring the agents that a journal records.

use std::time::Duration;

use rustc_hash::{FxHashMap, FxHashSet};
use whimbrel_acl::{Aid, Symbol};
use whimbrel_platform::durable::{Born, Origin, Registration, Resumed, State};
use whimbrel_platform::mobility::{Hop, HopError, HopRequest};
use whimbrel_platform::services::{CreateError, LogLevel};
use whimbrel_platform::{AgentBody, Time};

use crate::durable::{Entrant, Unserved, Unwritten, volatile};
use crate::mobility::KEPT_BY_ONE;
use crate::node::Node;
use crate::panics::caught;
use crate::shard::Slot;
use crate::sync::locked;

impl Node {
    /// Restores an agent from its recorded states, the last of them written at this time, as
    /// [`ProgramLoader::restore`] describes.
    ///
    /// [`ProgramLoader::restore`]: crate::ProgramLoader::restore
    pub fn restore(
        &self,
        name: Symbol,
        origin: &Origin,
        states: &[State],
        written_at: Time,
    ) -> Result<Box<dyn AgentBody>, String> {
        match origin {
            Origin::Type(kind) => self.kinds.restore(kind, states),
            Origin::Kept { .. } => {
                let age = Duration::from_micros(self.now().0.wrapping_sub(written_at.0));
                self.kept_agents.resume(name, origin, states, age)
            }
            Origin::GoneOn { code, .. } => {
                // Its client may have brought the code along.
                caught(|| self.loader.recall_code(code))?;
                let body = self.restore(name, code, states, written_at)?;
                self.kept_agents.note_gone_on(name, origin);
                Ok(body)
            }
            _ => self.loader.restore(name, origin, states, written_at),
        }
    }

    /// Checks whether a new agent could be restored later.
    pub fn check_kind(&self, name: Symbol, body: &dyn AgentBody) -> Result<(), CreateError> {
        match body.origin() {
            Some(Origin::Type(kind)) if !self.kinds.knows(&kind) => Err(CreateError::UnknownKind { name, kind }),
            _ => Ok(()),
        }
    }

    /// Returns a society's agents at start-up: recovered agents replace founders of the same name, founders that had
    /// ended are left out, and later agents are added. From now on their steps are persisted.
    pub fn with_resumed(&self, founders: Vec<Entrant>) -> Result<Vec<Entrant>, CreateError> {
        founders.iter().try_for_each(|agent| self.check_kind(agent.name, &agent.slot.body))?;
        let Some(scribe) = &self.scribe else { return Ok(founders) };
        let mut pending = locked(&scribe.pending);
        let kept = std::mem::take(&mut pending.agents);
        let ended = std::mem::take(&mut pending.ended);
        drop(pending);
        let (mut resumed, failed) = self.resume(kept.into_values(), &volatile(&founders));
        if let Some((_, error)) = failed.into_iter().next() {
            return Err(error);
        }
        locked(&scribe.pending).standings = std::mem::take(&mut resumed.standings);
        Ok(resumed.among(founders, &ended))
    }

    /// Restores recorded agents and their registrations. Also returns those that cannot be restored, including agents
    /// that are `volatile` now.
    pub fn resume(
        &self,
        kept: impl IntoIterator<Item = Resumed>,
        volatile: &FxHashSet<Symbol>,
    ) -> (ResumedAgents, Vec<(Symbol, CreateError)>) {
        let (mut resumed, mut failed) = (ResumedAgents::default(), Vec::new());
        for Resumed { born, states, age_ms, standing, last } in kept.into_iter().filter(|kept| !kept.states.is_empty())
        {
            let name = born.agent;
            let agent = match volatile.contains(&name) {
                true => Err("it is volatile now, and its state was kept; --fresh begins anew".to_owned()),
                false => self.resumed(&born, &states, age_ms, last),
            };
            match agent {
                Ok(slot) => {
                    let root = born.root.unwrap_or_default();
                    resumed.agents.insert(name, Entrant { name, kind: born.kind, owner: born.owner, root, slot });
                    resumed.standings.extend(standing);
                }
                Err(reason) => failed.push((name, CreateError::BadProgram { name, reason })),
            }
        }
        (resumed, failed)
    }

    fn resumed(&self, born: &Born, states: &[State], age_ms: u64, last: u64) -> Result<Box<Slot>, String> {
        // Time of that record on this node's clock, had the node been running then.
        let written_at = Time(self.now().0.wrapping_sub(age_ms.saturating_mul(1_000)));
        let body = match self.restore(born.agent, &born.origin, states, written_at) {
            Ok(body) => body,
            // Another program may know the agent. Its messages wait, and its records stay as they are.
            Err(why) if matches!(born.origin, Origin::Type(_) | Origin::Kept { .. } | Origin::GoneOn { .. }) => {
                let text = format!("it does not continue, and its stored state stays as it is: {why}");
                self.output.log(Aid::local(born.agent), LogLevel::Severe, &text);
                Box::new(Unserved(Some(born.origin.clone())))
            }
            Err(why) => return Err(why),
        };
        let mut slot: Box<Slot> = Box::new(Slot::new(body));
        if let Some(HopRequest { to, .. }) = slot.body.awaits_hop().filter(|_| self.cluster.is_none()) {
            slot.body.hopped(&Hop::Stayed { to, why: HopError::NotMovable(KEPT_BY_ONE.to_owned()) });
        }
        let mut sizes = states.iter().map(State::len);
        let (whole_bytes, delta_bytes) = (sizes.next().unwrap_or_default(), sizes.sum());
        slot.unwritten = Some(Box::new(Unwritten { whole_bytes, delta_bytes, ..Unwritten::after(last) }));
        Ok(slot)
    }
}

/// Agents that were restored.
#[derive(Default)]
pub(crate) struct ResumedAgents {
    agents: FxHashMap<Symbol, Entrant>,
    /// Registrations of these agents.
    pub standings: Vec<Registration>,
}

impl ResumedAgents {
    pub fn len(&self) -> usize {
        self.agents.len()
    }

    /// Returns a society's agents at start-up: restored agents replace founders of the same name, founders that had
    /// ended are left out, and later agents are added.
    pub fn among(self, founders: Vec<Entrant>, ended: &FxHashSet<Symbol>) -> Vec<Entrant> {
        let mut resumed = self.agents;
        let mut agents = Vec::with_capacity(founders.len() + resumed.len());
        for founder in founders.into_iter().filter(|founder| !ended.contains(&founder.name)) {
            agents.push(resumed.remove(&founder.name).unwrap_or(founder));
        }
        let first_other = agents.len();
        agents.extend(resumed.into_values());
        if let Some(others) = agents.get_mut(first_other..) {
            others.sort_unstable_by_key(|agent| agent.name.as_str());
        }
        agents
    }
}
