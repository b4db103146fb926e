//! Transits: a node's part in agents' hops, as the source, as the destination, and as any other node.
//!
//! [`Transits`] is a state machine without I/O. `docs/design/mobility.md` explains the purpose of each phase, and the
//! fate of a hop whose nodes are lost in it.

use std::collections::VecDeque;

use rustc_hash::{FxHashMap, FxHashSet};
use whimbrel_acl::Symbol;

use super::HopError;
use super::news::{HopId, HopNews};
use crate::durable::{CodeHash, Registration};
use crate::route::{NodeId, ShardIndex};

/// Hops that a node takes part in, as a state machine; see the module.
///
/// Inputs: as the source, [`Transits::handle_offered`], [`Transits::handle_gone`], [`Transits::handle_emptied`] and
/// [`Transits::cancel`]. As the destination, [`Transits::handle_offer`] (or [`Transits::handle_clone_offer`]), then
/// [`Transits::handle_made`] or [`Transits::refuse`]. In any role, [`Transits::handle_news`] for news from other nodes,
/// [`Transits::handle_crossed`] when a [`Crossing`] is done, and [`Transits::handle_lost`] for lost nodes.
///
/// Outputs: [`HopStep`]s from [`Transits::poll_step`]. After each input, take all steps and carry them out in order; a
/// step that needs an answer names the function that takes it.
#[derive(Clone, Debug, Default)]
pub struct Transits {
    leaving: FxHashMap<Symbol, OutgoingAgent>,
    departed: FxHashMap<Symbol, DepartedAgent>,
    coming: FxHashMap<Symbol, IncomingAgent>,
    /// Clones that these nodes offer, and that are still to be made.
    clones: FxHashSet<(NodeId, HopId)>,
    steps: VecDeque<HopStep>,
}

/// Agent that is offered to another node, and has no turns.
#[derive(Clone, Debug)]
struct OutgoingAgent {
    hop: HopId,
    to: NodeId,
    entry_shard: ShardIndex,
    stage: Leave,
    /// Code that the destination may be given, if it lacks the code.
    code: Option<CodeHash>,
    /// Offset of the next part of the code, once one was given.
    code_at: Option<u64>,
}

/// Progress of an offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Leave {
    /// The destination makes the agent.
    Offered,
    /// The destination is ready, and the scheduler was asked to let the agent go.
    Granted,
    /// The destination makes a clone: the agent itself stays.
    Clone,
}

/// Agent that belongs to another node: messages for it are passed on.
#[derive(Clone, Debug)]
struct DepartedAgent {
    hop: HopId,
    to: NodeId,
    /// Shard that passes messages on.
    entry_shard: ShardIndex,
    /// True once the messages that waited for the agent here are passed on.
    emptied: bool,
    /// Other nodes that may send messages here, and if they said that nothing follows.
    others: Vec<(NodeId, Other)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Other {
    Awaited,
    /// Node that has followed; messages that it sent before are on their way to the entry shard.
    Followed,
}

/// Agent that is arriving.
#[derive(Clone, Debug)]
struct IncomingAgent {
    hop: HopId,
    from: NodeId,
    stage: Stage,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Stage {
    /// Offered: the body is being made.
    Offered,
    /// Made: the source may commit.
    Made,
    /// Committed to this node: the agent begins when these nodes have followed, the source among them.
    Committed(Vec<Symbol>),
}

impl IncomingAgent {
    fn is_committed(&self) -> bool {
        matches!(self.stage, Stage::Committed(_))
    }
}

/// Barrier that has to pass through all shards of this node, so that nothing under way in them is overtaken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crossing {
    /// Destination, before it is ready: its agents' messages to the arriving agent are on the link.
    Prepare(HopId, NodeId),
    /// Source, after it committed: its agents' messages to the departed agent are in that agent's mailbox.
    Depart(HopId),
    /// Source, after a node has followed: messages of that node are at the entry shard.
    Pass(HopId, NodeId),
    /// Any other node, before it follows: messages of its agents are on the link.
    Follow(HopId, NodeId),
}

/// Step of a hop for its driver.
#[derive(Clone, Debug, PartialEq)]
pub enum HopStep {
    /// Send news to a node.
    Tell(NodeId, HopNews),
    /// Pass this barrier through all shards, then call [`Transits::handle_crossed`].
    Cross(Crossing),
    /// Source: let the agent go ([`Transits::handle_gone`]), or say that it cannot ([`Transits::cancel`]).
    LetGo(HopId, ShardIndex, NodeId),
    /// Source: keep the agent, for this reason.
    Stay(HopId, ShardIndex, HopError),
    /// Source: tell the agent that it has a clone.
    Cloned {
        /// Hop.
        hop: HopId,
        /// Shard of the agent.
        entry_shard: ShardIndex,
        /// Name of the clone.
        clone: Symbol,
    },
    /// Source: pass on the messages that waited for the agent, then call [`Transits::handle_emptied`].
    Empty(HopId, ShardIndex, NodeId),
    /// Source: send this news behind all messages that the entry shard passed on.
    TellBehind(ShardIndex, NodeId, HopNews),
    /// Destination: make it an agent of this node from now on. If it is in topics or groups, these nodes still publish
    /// by way of its source.
    Own(HopId, NodeId, Box<Registration>, Vec<Symbol>),
    /// Destination: begin its turns.
    Begin(HopId, NodeId),
    /// Destination: drop the agent, which does not come. If its source is lost, it has ended.
    Drop {
        /// Hop.
        hop: HopId,
        /// Node where the agent stays.
        from: NodeId,
        /// True if that node is lost.
        lost: bool,
    },
}

impl Transits {
    /// Returns the next step.
    pub fn poll_step(&mut self) -> Option<HopStep> {
        self.steps.pop_front()
    }

    /// Returns true if no agent is on its way, or passed on.
    pub fn is_quiet(&self) -> bool {
        self.leaving.is_empty() && self.departed.is_empty() && self.coming.is_empty()
    }

    fn tell(&mut self, to: NodeId, news: HopNews) {
        self.steps.push_back(HopStep::Tell(to, news));
    }

    fn cross(&mut self, crossing: Crossing) {
        self.steps.push_back(HopStep::Cross(crossing));
    }
}

/// Part of the source.
impl Transits {
    /// Notes that an agent with this code, which has no turns from now on, or a clone of it, is offered to a node.
    /// Returns false if one of its name is on its way already.
    pub fn handle_offered(
        &mut self,
        hop: HopId,
        to: NodeId,
        entry_shard: ShardIndex,
        clone: bool,
        code: Option<CodeHash>,
    ) -> bool {
        let free = !self.leaving.contains_key(&hop.agent);
        if free {
            let stage = if clone { Leave::Clone } else { Leave::Offered };
            self.leaving.insert(hop.agent, OutgoingAgent { hop, to, entry_shard, stage, code, code_at: None });
        }
        free
    }

    /// Returns the shard of an agent that is offered to this node.
    pub fn shard_for(&mut self, to: NodeId, hop: HopId) -> Option<ShardIndex> {
        self.leaving_to(to, hop).map(|leaving| leaving.entry_shard)
    }

    /// Returns the code of an agent that is offered to this node, if that node may be given the part at this offset.
    /// Each part is given once, in order: a request takes few bytes, but a part takes memory until it has left.
    pub fn code_for(&mut self, to: NodeId, hop: HopId, at: u64) -> Option<CodeHash> {
        let leaving = self.leaving_to(to, hop)?;
        leaving.code.filter(|_| leaving.code_at.is_none_or(|due| due == at))
    }

    /// Notes that a part of the code was given, and the offset of the next one.
    pub fn handle_code_given(&mut self, to: NodeId, hop: HopId, next: u64) {
        if let Some(leaving) = self.leaving_to(to, hop) {
            leaving.code_at = Some(next);
        }
    }

    /// Returns true if an agent is leaving by this hop, and not gone yet.
    pub fn is_leaving(&self, hop: HopId) -> bool {
        self.leaving.get(&hop.agent).is_some_and(|leaving| leaving.hop == hop)
    }

    /// Cancels a hop: the agent stays, because it or the platform ends. Returns false if it is gone, or was not
    /// leaving.
    pub fn cancel(&mut self, agent: Symbol) -> bool {
        let leaving = self.leaving.remove(&agent);
        if let Some(OutgoingAgent { hop, to, .. }) = &leaving {
            self.tell(*to, HopNews::Cancel(*hop));
        }
        leaving.is_some()
    }

    /// Notes that the agent was let go and belongs to the destination. `others` are told, by name and number.
    pub fn handle_gone(&mut self, hop: HopId, name: Symbol, standing: Box<Registration>, others: &[(NodeId, Symbol)]) {
        let Some(OutgoingAgent { to, entry_shard, .. }) = self.leaving.remove(&hop.agent) else { return };
        let places = standing.places.clone();
        // Messages that the destination's own agents publish come here, too, until it says otherwise.
        let waits = |node: NodeId| node != to || !places.is_empty();
        let others: Vec<(NodeId, Symbol)> = others.iter().copied().filter(|(node, _)| waits(*node)).collect();
        let told = others.iter().map(|(_, name)| *name).collect();
        let standing = Some(standing).filter(|standing| !standing.is_plain());
        self.tell(to, HopNews::Commit { hop, standing, told });
        for (node, _) in others.iter().filter(|(node, _)| *node != to) {
            if !places.is_empty() {
                self.tell(*node, HopNews::Roams(hop, name, places.clone()));
            }
            self.tell(*node, HopNews::Departed(hop, name));
        }
        let others = others.into_iter().map(|(node, _)| (node, Other::Awaited)).collect();
        self.departed.insert(hop.agent, DepartedAgent { hop, to, entry_shard, emptied: false, others });
        self.cross(Crossing::Depart(hop));
    }

    /// Notes that the messages that waited for the agent are passed on. `me` is this node's name.
    pub fn handle_emptied(&mut self, hop: HopId, me: Symbol, name_of: impl Fn(NodeId) -> Symbol) {
        let Some(departed) = self.departed_of(hop) else { return };
        departed.emptied = true;
        let (entry_shard, to) = (departed.entry_shard, departed.to);
        let followed: Vec<NodeId> =
            departed.others.iter().filter(|(_, other)| *other == Other::Followed).map(|(node, _)| *node).collect();
        self.steps.push_back(HopStep::TellBehind(entry_shard, to, HopNews::Followed(hop, me)));
        followed.into_iter().for_each(|node| self.pass(hop, node, name_of(node)));
        self.forget_departed(hop);
    }

    /// Returns the shard that passes on late messages for this agent, and the node to which it does.
    pub fn entry_shard_of(&self, agent: Symbol) -> Option<(ShardIndex, NodeId)> {
        self.departed.get(&agent).map(|departed| (departed.entry_shard, departed.to))
    }

    fn departed_of(&mut self, hop: HopId) -> Option<&mut DepartedAgent> {
        self.departed.get_mut(&hop.agent).filter(|departed| departed.hop == hop)
    }

    /// Notes that a node has followed, and that all its messages for the agent are at the entry shard.
    fn handle_followed(&mut self, hop: HopId, node: NodeId, name: Symbol) {
        let Some(departed) = self.departed_of(hop) else { return };
        match departed.others.iter_mut().find(|(other, _)| *other == node) {
            // Messages of that node may be among those that wait.
            Some((_, other)) if !departed.emptied => *other = Other::Followed,
            Some(_) => {
                self.pass(hop, node, name);
                self.forget_departed(hop);
            }
            None => {}
        }
    }

    fn pass(&mut self, hop: HopId, node: NodeId, name: Symbol) {
        let Some(departed) = self.departed_of(hop) else { return };
        departed.others.retain(|(other, _)| *other != node);
        let (entry_shard, to) = (departed.entry_shard, departed.to);
        self.steps.push_back(HopStep::TellBehind(entry_shard, to, HopNews::Followed(hop, name)));
    }

    fn forget_departed(&mut self, hop: HopId) {
        if self.departed_of(hop).is_some_and(|departed| departed.emptied && departed.others.is_empty()) {
            self.departed.remove(&hop.agent);
        }
    }

    fn handle_ready(&mut self, from: NodeId, hop: HopId) {
        let Some(leaving) = self.leaving_to(from, hop) else { return self.tell(from, HopNews::Cancel(hop)) };
        if leaving.stage == Leave::Offered {
            leaving.stage = Leave::Granted;
            let entry_shard = leaving.entry_shard;
            self.steps.push_back(HopStep::LetGo(hop, entry_shard, from));
        }
    }

    fn leaving_to(&mut self, to: NodeId, hop: HopId) -> Option<&mut OutgoingAgent> {
        self.leaving.get_mut(&hop.agent).filter(|leaving| leaving.hop == hop && leaving.to == to)
    }

    fn stay(&mut self, agent: Symbol, why: HopError) {
        if let Some(OutgoingAgent { hop, entry_shard, .. }) = self.leaving.remove(&agent) {
            self.steps.push_back(HopStep::Stay(hop, entry_shard, why));
        }
    }
}

/// Part of the destination.
impl Transits {
    /// Takes in an offer of an agent whose body is about to be made. Returns false if one of its name is arriving
    /// already.
    pub fn handle_offer(&mut self, from: NodeId, hop: HopId) -> bool {
        let free = !self.coming.contains_key(&hop.agent);
        if free {
            self.coming.insert(hop.agent, IncomingAgent { hop, from, stage: Stage::Offered });
        }
        free
    }

    /// Takes in an offer of a clone. Returns false for a repeated offer.
    pub fn handle_clone_offer(&mut self, from: NodeId, hop: HopId) -> bool {
        self.clones.insert((from, hop))
    }

    /// Notes that a clone is about to be made, or cannot be. Returns false if it does not come any more.
    pub fn handle_clone_done(&mut self, from: NodeId, hop: HopId) -> bool {
        self.clones.remove(&(from, hop))
    }

    /// Notes that the agent's body is made, so that messages from this node's agents wait for it from now on. Returns
    /// false if it does not come any more.
    pub fn handle_made(&mut self, hop: HopId) -> bool {
        let Some(coming) = self.coming_of(hop).filter(|coming| coming.stage == Stage::Offered) else { return false };
        coming.stage = Stage::Made;
        let from = coming.from;
        self.cross(Crossing::Prepare(hop, from));
        true
    }

    /// Refuses an agent that cannot be made, or may not come.
    pub fn refuse(&mut self, from: NodeId, hop: HopId, why: HopError) {
        if self.coming_of(hop).is_some_and(|coming| coming.stage == Stage::Offered) {
            self.coming.remove(&hop.agent);
        }
        self.tell(from, HopNews::Refuse(hop, why));
    }

    /// Returns the source of an agent that is arriving: messages that are passed on for it go to its mailbox.
    pub fn comes_from(&self, agent: Symbol) -> Option<NodeId> {
        self.coming.get(&agent).map(|coming| coming.from)
    }

    /// Returns the source of this hop's agent, if it does not belong to this node yet.
    pub fn source_before_commit(&self, hop: HopId) -> Option<NodeId> {
        let coming = self.coming.get(&hop.agent).filter(|coming| coming.hop == hop && !coming.is_committed());
        coming.map(|coming| coming.from)
    }

    /// Returns true if an agent, or a clone, is offered by that node, and its body is still to be made.
    pub fn is_offered(&self, from: NodeId, hop: HopId) -> bool {
        let offered =
            |coming: &IncomingAgent| coming.hop == hop && coming.from == from && coming.stage == Stage::Offered;
        self.coming.get(&hop.agent).is_some_and(offered) || self.clones.contains(&(from, hop))
    }

    fn coming_of(&mut self, hop: HopId) -> Option<&mut IncomingAgent> {
        self.coming.get_mut(&hop.agent).filter(|coming| coming.hop == hop)
    }

    fn handle_commit(&mut self, from: NodeId, me: Symbol, hop: HopId, standing: Box<Registration>, told: Vec<Symbol>) {
        // A node that commits twice, or before the agent is made, breaks the protocol and is ignored.
        let made = |coming: &&mut IncomingAgent| coming.from == from && coming.stage == Stage::Made;
        let Some(coming) = self.coming_of(hop).filter(made) else { return };
        let awaited: Vec<Symbol> = told.into_iter().chain([me]).collect();
        coming.stage = Stage::Committed(awaited.clone());
        let has_places = !standing.places.is_empty();
        self.steps.push_back(HopStep::Own(hop, from, standing, awaited));
        if has_places {
            self.cross(Crossing::Follow(hop, from));
        }
    }

    fn handle_passed(&mut self, from: NodeId, hop: HopId, node: Symbol) {
        let Some(coming) = self.coming_of(hop).filter(|coming| coming.from == from) else { return };
        let Stage::Committed(awaited) = &mut coming.stage else { return };
        awaited.retain(|other| *other != node);
        if awaited.is_empty() {
            self.begin(hop, from);
        }
    }

    /// Ends all arrivals, because the platform stops.
    pub fn stop(&mut self) {
        self.coming.clear();
    }

    fn begin(&mut self, hop: HopId, from: NodeId) {
        self.coming.remove(&hop.agent);
        self.steps.push_back(HopStep::Begin(hop, from));
    }

    fn drop_coming(&mut self, hop: HopId, from: NodeId, lost: bool) {
        self.coming.remove(&hop.agent);
        self.steps.push_back(HopStep::Drop { hop, from, lost });
    }
}

/// News of other nodes, and their loss.
impl Transits {
    /// Takes in news from another node of this name. Offers go to [`Transits::handle_offer`], code to
    /// [`Fetches`](super::Fetches).
    pub fn handle_news(&mut self, from: NodeId, name: Symbol, news: HopNews) {
        match news {
            HopNews::Ready(hop) => self.handle_ready(from, hop),
            HopNews::Refuse(hop, why) if self.leaving_to(from, hop).is_some() => self.stay(hop.agent, why),
            HopNews::Cloned(hop, clone) => {
                let original = self.leaving_to(from, hop).filter(|leaving| leaving.stage == Leave::Clone);
                if let Some(entry_shard) = original.map(|leaving| leaving.entry_shard) {
                    self.leaving.remove(&hop.agent);
                    self.steps.push_back(HopStep::Cloned { hop, entry_shard, clone });
                }
            }
            HopNews::Cancel(hop) => {
                self.clones.remove(&(from, hop));
                if self.coming_of(hop).is_some_and(|it| it.from == from && !it.is_committed()) {
                    self.drop_coming(hop, from, false);
                }
            }
            HopNews::Commit { hop, standing, told } => {
                let standing = standing.unwrap_or_else(|| Box::new(Registration::plain(hop.agent)));
                self.handle_commit(from, name, hop, standing, told);
            }
            HopNews::Departed(hop, _) => self.cross(Crossing::Follow(hop, from)),
            HopNews::Follow(hop) => self.cross(Crossing::Pass(hop, from)),
            HopNews::Followed(hop, node) => self.handle_passed(from, hop, node),
            HopNews::Refuse(..) | HopNews::Offer(_) | HopNews::Lacks { .. } | HopNews::Code(..) => {}
            HopNews::Recall(..) | HopNews::Recalled(..) => {}
            HopNews::More { .. }
            | HopNews::State(..)
            | HopNews::Roams(..)
            | HopNews::Clear(..)
            | HopNews::Settled(..) => {}
        }
    }

    /// Takes in that a barrier passed through all shards; `name_of` names nodes.
    pub fn handle_crossed(&mut self, crossing: Crossing, name_of: impl Fn(NodeId) -> Symbol) {
        match crossing {
            Crossing::Prepare(hop, from) => {
                if self.coming_of(hop).is_some() {
                    self.tell(from, HopNews::Ready(hop));
                }
            }
            Crossing::Depart(hop) => {
                if let Some(DepartedAgent { entry_shard, to, .. }) = self.departed_of(hop) {
                    let (entry_shard, to) = (*entry_shard, *to);
                    self.steps.push_back(HopStep::Empty(hop, entry_shard, to));
                }
            }
            Crossing::Pass(hop, node) => self.handle_followed(hop, node, name_of(node)),
            Crossing::Follow(hop, source) => self.tell(source, HopNews::Follow(hop)),
        }
    }

    /// Takes in that another node is lost. Call it before that node's agents are forgotten.
    pub fn handle_lost(&mut self, node: NodeId, name: Symbol) {
        let leaving: Vec<Symbol> =
            self.leaving.values().filter(|leaving| leaving.to == node).map(|leaving| leaving.hop.agent).collect();
        leaving.into_iter().for_each(|agent| self.stay(agent, HopError::Unreachable(name)));
        let awaited = |it: &DepartedAgent| it.others.contains(&(node, Other::Awaited));
        let departed: Vec<HopId> = self.departed.values().filter(|it| awaited(it)).map(|it| it.hop).collect();
        departed.into_iter().for_each(|hop| self.cross(Crossing::Pass(hop, node)));
        // Messages for agents on that node are still passed on, which fails.
        self.departed.values_mut().filter(|it| it.to == node).for_each(|it| it.others.clear());
        self.departed.retain(|_, it| it.to != node || !it.emptied);
        self.clones.retain(|(from, _)| *from != node);
        let coming: Vec<(HopId, bool)> =
            self.coming.values().filter(|it| it.from == node).map(|it| (it.hop, it.is_committed())).collect();
        for (hop, committed) in coming {
            if committed { self.begin(hop, node) } else { self.drop_coming(hop, node, true) }
        }
    }
}
