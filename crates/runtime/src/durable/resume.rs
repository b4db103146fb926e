//! Bringing back the agents that a journal keeps.

use rustc_hash::{FxHashMap, FxHashSet};
use whimbrel_acl::{Aid, Symbol};
use whimbrel_platform::ams::AgentKind;
use whimbrel_platform::durable::{Origin, Resumed, Standing, State};
use whimbrel_platform::services::{CreateError, LogLevel};
use whimbrel_platform::{AgentBody, Time};

use super::Unwritten;
use crate::durable_agent::Unserved;
use crate::node::Node;
use crate::shard::Slot;
use crate::sync::locked;

/// Agents to be.
type Agents = Vec<(Symbol, AgentKind, Box<Slot>)>;

impl Node {
    /// Makes an agent again of what was kept of it, the last of it written at this time, as [`ProgramLoader::restore`] has it.
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
            _ => self.loader.restore(name, origin, states, written_at),
        }
    }

    /// Whether an agent that is to be could be made again.
    pub fn check_kind(&self, name: Symbol, body: &dyn AgentBody) -> Result<(), CreateError> {
        match body.origin() {
            Some(Origin::Type(kind)) if !self.kinds.knows(&kind) => Err(CreateError::UnknownKind { name, kind }),
            _ => Ok(()),
        }
    }

    /// A society's agents as they go on: those that were kept instead of new ones, without those that had ended, and with
    /// those that came to be later. From now on what they do is written.
    pub fn with_resumed(&self, founders: Agents) -> Result<Agents, CreateError> {
        founders.iter().try_for_each(|(name, _, slot)| self.check_kind(*name, &slot.body))?;
        let Some(scribe) = &self.scribe else { return Ok(founders) };
        let mut pending = locked(&scribe.pending);
        let kept = std::mem::take(&mut pending.agents);
        let ended = std::mem::take(&mut pending.ended);
        drop(pending);
        let (agents, standings) = self.resume_among(founders, kept, &ended)?;
        locked(&scribe.pending).standings = standings;
        Ok(agents)
    }

    /// As [`Node::with_resumed`], for agents that were just read; and what the platform knew of them.
    pub fn resume_among(
        &self,
        founders: Agents,
        mut kept: FxHashMap<Symbol, Resumed>,
        ended: &FxHashSet<Symbol>,
    ) -> Result<(Agents, Vec<Standing>), CreateError> {
        let mut agents = Vec::with_capacity(founders.len() + kept.len());
        let mut standings = Vec::new();
        for (name, kind, slot) in founders.into_iter().filter(|(name, ..)| !ended.contains(name)) {
            match kept.remove(&name).filter(|kept| !kept.states.is_empty()) {
                Some(_) if slot.body.origin().is_none() => {
                    let reason = "it is volatile now, and its state was kept; --fresh begins anew".to_owned();
                    return Err(CreateError::BadProgram { name, reason });
                }
                Some(kept) => agents.push(self.resumed(kept, &mut standings)?),
                None => agents.push((name, kind, slot)),
            }
        }
        let mut others: Vec<Resumed> = kept.into_values().filter(|kept| !kept.states.is_empty()).collect();
        others.sort_unstable_by_key(|kept| kept.born.agent.as_str().to_owned());
        for other in others {
            agents.push(self.resumed(other, &mut standings)?);
        }
        Ok((agents, standings))
    }

    fn resumed(
        &self,
        kept: Resumed,
        standings: &mut Vec<Standing>,
    ) -> Result<(Symbol, AgentKind, Box<Slot>), CreateError> {
        let Resumed { born, states, age_ms, standing, last } = kept;
        standings.extend(standing);
        let name = born.agent;
        // When that was written, if this node had been there.
        let written_at = Time(self.now().0.wrapping_sub(age_ms.saturating_mul(1_000)));
        let body = match self.restore(name, &born.origin, &states, written_at) {
            Ok(body) => body,
            // Another program may know it. Its messages wait, and what is kept of it stays as it is.
            Err(why) if matches!(born.origin, Origin::Type(_)) => {
                let text = format!("it does not go on, and what is kept of it stays as it is: {why}");
                self.output.log(Aid::local(name), LogLevel::Severe, &text);
                Box::new(Unserved(born.origin))
            }
            Err(reason) => return Err(CreateError::BadProgram { name, reason }),
        };
        let mut slot: Box<Slot> = Box::new(Slot::new(body));
        let mut sizes = states.iter().map(State::len);
        let (whole_bytes, delta_bytes) = (sizes.next().unwrap_or_default(), sizes.sum());
        slot.unwritten = Some(Box::new(Unwritten { whole_bytes, delta_bytes, ..Unwritten::after(last) }));
        Ok((name, born.kind, slot))
    }
}
