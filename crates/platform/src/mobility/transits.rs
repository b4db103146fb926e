//! A node's part in agents' hops: as the node that they leave, as that which takes them, and as any other.
//!
//! [`Transits`] is a state machine without I/O. Its inputs are what the scheduler wants and saw, and what other nodes
//! tell; its outputs are [`Step`]s, to be carried out in order ([`Transits::poll_step`]). `docs/design/mobility.md` says what each
//! phase is for, and what becomes of a hop whose nodes are lost in it.

use std::collections::VecDeque;

use rustc_hash::{FxHashMap, FxHashSet};
use whimbrel_acl::Symbol;

use super::news::{HopId, HopNews};
use super::{CodeHash, HopError};
use crate::durable::Standing;
use crate::route::{NodeId, ShardIndex};

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct Transits {
    leaving: FxHashMap<Symbol, Leaving>,
    departed: FxHashMap<Symbol, Departed>,
    coming: FxHashMap<Symbol, Coming>,
    /// Clones that are offered by these nodes, and still to be made.
    clones: FxHashSet<(NodeId, HopId)>,
    steps: VecDeque<Step>,
}

/// An agent that is offered to another node, and has no turns.
#[derive(Clone, Debug)]
struct Leaving {
    hop: HopId,
    to: NodeId,
    door: ShardIndex,
    stage: Leave,
    /// What the destination may be given if it lacks it.
    code: Option<CodeHash>,
    /// Where the part of it begins that is due, once one was given.
    code_at: Option<u64>,
}

/// How far an offer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Leave {
    /// The destination makes the agent.
    Offered,
    /// It is ready, and the scheduler was asked to let the agent go.
    Granted,
    /// The destination makes a clone: the agent itself stays.
    Clone,
}

/// An agent that is another node's: what comes for it is passed on.
#[derive(Clone, Debug)]
struct Departed {
    hop: HopId,
    to: NodeId,
    /// The shard that passes on.
    door: ShardIndex,
    /// What waited for it here is passed on.
    emptied: bool,
    /// Other nodes that may send something here, and whether they said that nothing follows.
    others: Vec<(NodeId, Other)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Other {
    Awaited,
    /// It said so; what it said before is on its way to the door.
    Followed,
}

/// An agent that comes.
#[derive(Clone, Debug)]
struct Coming {
    hop: HopId,
    from: NodeId,
    stage: Stage,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Stage {
    /// Its body is being made.
    Offered,
    /// It is made, and the source may commit.
    Made,
    /// It is this node's, and begins when these nodes have followed, the source by its name among them.
    Committed(Vec<Symbol>),
}

impl Coming {
    fn is_committed(&self) -> bool {
        matches!(self.stage, Stage::Committed(_))
    }
}

/// What has to pass through all shards of this node, so that nothing that was under way in them is overtaken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crossing {
    /// Destination: before it is ready. What its agents sent to the one that comes is on the link.
    Prepare(HopId, NodeId),
    /// Source: after it committed. What its agents sent to the one that left is in that one's mailbox.
    Depart(HopId),
    /// Source: a node has followed. What it sent is at the door.
    Pass(HopId, NodeId),
    /// Any other node: before it follows. What its agents sent is on the link.
    Follow(HopId, NodeId),
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Tell a node.
    Tell(NodeId, HopNews),
    /// Have this pass through all shards; then [`Transits::handle_crossed`].
    Cross(Crossing),
    /// Source: let it go ([`Transits::handle_gone`]), or say that it cannot ([`Transits::cancel`]).
    LetGo(HopId, ShardIndex, NodeId),
    /// Source: it stays.
    Stay(HopId, ShardIndex, HopError),
    /// Source: it has a clone.
    Cloned {
        /// Which.
        hop: HopId,
        /// Its shard.
        door: ShardIndex,
        /// The clone's name.
        clone: Symbol,
    },
    /// Source: pass on what waited for it, then [`Transits::handle_emptied`].
    Empty(HopId, ShardIndex, NodeId),
    /// Source: tell this behind all that the door passed on.
    TellBehind(ShardIndex, NodeId, HopNews),
    /// Destination: from now on it is an agent of this node. If it is in topics or groups, these nodes still publish by way of its source.
    Own(HopId, NodeId, Box<Standing>, Vec<Symbol>),
    /// Destination: it begins.
    Begin(HopId, NodeId),
    /// Destination: it does not come. Its source may be lost: then it has ended.
    Drop {
        /// Which.
        hop: HopId,
        /// Where it stays.
        from: NodeId,
        /// Whether that is lost.
        lost: bool,
    },
}

impl Transits {
    /// What is to be done next.
    pub fn poll_step(&mut self) -> Option<Step> {
        self.steps.pop_front()
    }

    /// Whether an agent is on its way, or passed on.
    pub fn is_quiet(&self) -> bool {
        self.leaving.is_empty() && self.departed.is_empty() && self.coming.is_empty()
    }

    fn tell(&mut self, to: NodeId, news: HopNews) {
        self.steps.push_back(Step::Tell(to, news));
    }

    fn cross(&mut self, crossing: Crossing) {
        self.steps.push_back(Step::Cross(crossing));
    }
}

/// The source's part.
impl Transits {
    /// An agent of this code that has no turns from now on is offered to a node, or a clone of it. False if one of its name is on its way
    /// already.
    pub fn handle_offered(
        &mut self,
        hop: HopId,
        to: NodeId,
        door: ShardIndex,
        clone: bool,
        code: Option<CodeHash>,
    ) -> bool {
        let free = !self.leaving.contains_key(&hop.agent);
        if free {
            let stage = if clone { Leave::Clone } else { Leave::Offered };
            self.leaving.insert(hop.agent, Leaving { hop, to, door, stage, code, code_at: None });
        }
        free
    }

    /// The shard of an agent that is offered to this node.
    pub fn door_for(&mut self, to: NodeId, hop: HopId) -> Option<ShardIndex> {
        self.leaving_to(to, hop).map(|leaving| leaving.door)
    }

    /// The code of which this node may be given the part that begins there: that of an agent which is offered to it. Each part is given
    /// once, in their order: what is asked for takes a byte, and what is given takes memory until it has left.
    pub fn code_for(&mut self, to: NodeId, hop: HopId, at: u64) -> Option<CodeHash> {
        let leaving = self.leaving_to(to, hop)?;
        leaving.code.filter(|_| leaving.code_at.is_none_or(|due| due == at))
    }

    /// It is given, and this is where the next part begins.
    pub fn handle_code_given(&mut self, to: NodeId, hop: HopId, next: u64) {
        if let Some(leaving) = self.leaving_to(to, hop) {
            leaving.code_at = Some(next);
        }
    }

    /// Whether it is leaving by this hop, and not gone yet.
    pub fn is_leaving(&self, hop: HopId) -> bool {
        self.leaving.get(&hop.agent).is_some_and(|leaving| leaving.hop == hop)
    }

    /// It stays after all: it ends, or the platform does. False if it is gone, or was not leaving.
    pub fn cancel(&mut self, agent: Symbol) -> bool {
        let leaving = self.leaving.remove(&agent);
        if let Some(Leaving { hop, to, .. }) = &leaving {
            self.tell(*to, HopNews::Cancel(*hop));
        }
        leaving.is_some()
    }

    /// It was let go: it is the destination's. `others` are told, by name and number.
    pub fn handle_gone(&mut self, hop: HopId, name: Symbol, standing: Box<Standing>, others: &[(NodeId, Symbol)]) {
        let Some(Leaving { to, door, .. }) = self.leaving.remove(&hop.agent) else { return };
        let places = standing.places.clone();
        // What the destination's own agents publish comes here, too, until it says otherwise.
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
        self.departed.insert(hop.agent, Departed { hop, to, door, emptied: false, others });
        self.cross(Crossing::Depart(hop));
    }

    /// What waited for it is passed on. `me` is this node's name.
    pub fn handle_emptied(&mut self, hop: HopId, me: Symbol, name_of: impl Fn(NodeId) -> Symbol) {
        let Some(departed) = self.departed_of(hop) else { return };
        departed.emptied = true;
        let (door, to) = (departed.door, departed.to);
        let followed: Vec<NodeId> =
            departed.others.iter().filter(|(_, other)| *other == Other::Followed).map(|(node, _)| *node).collect();
        self.steps.push_back(Step::TellBehind(door, to, HopNews::Followed(hop, me)));
        followed.into_iter().for_each(|node| self.pass(hop, node, name_of(node)));
        self.forget_departed(hop);
    }

    /// By which shard what comes late for this agent is passed on, and to which node.
    pub fn door_of(&self, agent: Symbol) -> Option<(ShardIndex, NodeId)> {
        self.departed.get(&agent).map(|departed| (departed.door, departed.to))
    }

    fn departed_of(&mut self, hop: HopId) -> Option<&mut Departed> {
        self.departed.get_mut(&hop.agent).filter(|departed| departed.hop == hop)
    }

    /// Nothing more comes from this node for the agent, and all that came is at the door.
    fn handle_followed(&mut self, hop: HopId, node: NodeId, name: Symbol) {
        let Some(departed) = self.departed_of(hop) else { return };
        match departed.others.iter_mut().find(|(other, _)| *other == node) {
            // What it sent may be among what waits.
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
        let (door, to) = (departed.door, departed.to);
        self.steps.push_back(Step::TellBehind(door, to, HopNews::Followed(hop, name)));
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
            let door = leaving.door;
            self.steps.push_back(Step::LetGo(hop, door, from));
        }
    }

    fn leaving_to(&mut self, to: NodeId, hop: HopId) -> Option<&mut Leaving> {
        self.leaving.get_mut(&hop.agent).filter(|leaving| leaving.hop == hop && leaving.to == to)
    }

    fn stay(&mut self, agent: Symbol, why: HopError) {
        if let Some(Leaving { hop, door, .. }) = self.leaving.remove(&agent) {
            self.steps.push_back(Step::Stay(hop, door, why));
        }
    }
}

/// The destination's part.
impl Transits {
    /// An agent is offered by that node, and its body is about to be made. False if one of its name comes already.
    pub fn handle_offer(&mut self, from: NodeId, hop: HopId) -> bool {
        let free = !self.coming.contains_key(&hop.agent);
        if free {
            self.coming.insert(hop.agent, Coming { hop, from, stage: Stage::Offered });
        }
        free
    }

    /// A node offers a clone. False if it has offered it before.
    pub fn handle_clone_offer(&mut self, from: NodeId, hop: HopId) -> bool {
        self.clones.insert((from, hop))
    }

    /// A clone is about to be made, or cannot be. False if it does not come any more.
    pub fn handle_clone_done(&mut self, from: NodeId, hop: HopId) -> bool {
        self.clones.remove(&(from, hop))
    }

    /// Its body is made, and what this node's agents send to it waits from now on. False if it does not come any more.
    pub fn handle_made(&mut self, hop: HopId) -> bool {
        let Some(coming) = self.coming_of(hop).filter(|coming| coming.stage == Stage::Offered) else { return false };
        coming.stage = Stage::Made;
        let from = coming.from;
        self.cross(Crossing::Prepare(hop, from));
        true
    }

    /// It cannot be made, or may not come.
    pub fn refuse(&mut self, from: NodeId, hop: HopId, why: HopError) {
        if self.coming_of(hop).is_some_and(|coming| coming.stage == Stage::Offered) {
            self.coming.remove(&hop.agent);
        }
        self.tell(from, HopNews::Refuse(hop, why));
    }

    /// Where an agent comes from that is not here yet, but may be: what is passed on for it goes to its mailbox.
    pub fn comes_from(&self, agent: Symbol) -> Option<NodeId> {
        self.coming.get(&agent).map(|coming| coming.from)
    }

    /// Where the agent of this hop comes from that is not this node's yet.
    pub fn source_before_commit(&self, hop: HopId) -> Option<NodeId> {
        let coming = self.coming.get(&hop.agent).filter(|coming| coming.hop == hop && !coming.is_committed());
        coming.map(|coming| coming.from)
    }

    /// Whether an agent is offered by that node, or a clone, and its body is still to be made.
    pub fn is_offered(&self, from: NodeId, hop: HopId) -> bool {
        let offered = |coming: &Coming| coming.hop == hop && coming.from == from && coming.stage == Stage::Offered;
        self.coming.get(&hop.agent).is_some_and(offered) || self.clones.contains(&(from, hop))
    }

    fn coming_of(&mut self, hop: HopId) -> Option<&mut Coming> {
        self.coming.get_mut(&hop.agent).filter(|coming| coming.hop == hop)
    }

    fn handle_commit(&mut self, from: NodeId, me: Symbol, hop: HopId, standing: Box<Standing>, told: Vec<Symbol>) {
        // Who commits to what is not made, or twice, did not wait to be told: that is not how agents come.
        let made = |coming: &&mut Coming| coming.from == from && coming.stage == Stage::Made;
        let Some(coming) = self.coming_of(hop).filter(made) else { return };
        let awaited: Vec<Symbol> = told.into_iter().chain([me]).collect();
        coming.stage = Stage::Committed(awaited.clone());
        let has_places = !standing.places.is_empty();
        self.steps.push_back(Step::Own(hop, from, standing, awaited));
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

    /// The platform stops: nobody comes any more.
    pub fn stop(&mut self) {
        self.coming.clear();
    }

    fn begin(&mut self, hop: HopId, from: NodeId) {
        self.coming.remove(&hop.agent);
        self.steps.push_back(Step::Begin(hop, from));
    }

    fn drop_coming(&mut self, hop: HopId, from: NodeId, lost: bool) {
        self.coming.remove(&hop.agent);
        self.steps.push_back(Step::Drop { hop, from, lost });
    }
}

/// What other nodes tell, and when they are lost.
impl Transits {
    /// Another node, of this name, has news. Offers come by [`Transits::handle_offer`], code goes to [`Fetches`](super::Fetches).
    pub fn handle_news(&mut self, from: NodeId, name: Symbol, news: HopNews) {
        match news {
            HopNews::Ready(hop) => self.handle_ready(from, hop),
            HopNews::Refuse(hop, why) if self.leaving_to(from, hop).is_some() => self.stay(hop.agent, why),
            HopNews::Cloned(hop, clone) => {
                let original = self.leaving_to(from, hop).filter(|leaving| leaving.stage == Leave::Clone);
                if let Some(door) = original.map(|leaving| leaving.door) {
                    self.leaving.remove(&hop.agent);
                    self.steps.push_back(Step::Cloned { hop, door, clone });
                }
            }
            HopNews::Cancel(hop) => {
                self.clones.remove(&(from, hop));
                if self.coming_of(hop).is_some_and(|it| it.from == from && !it.is_committed()) {
                    self.drop_coming(hop, from, false);
                }
            }
            HopNews::Commit { hop, standing, told } => {
                let standing = standing.unwrap_or_else(|| Box::new(Standing::plain(hop.agent)));
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

    /// Something passed through all shards; `name_of` names nodes.
    pub fn handle_crossed(&mut self, crossing: Crossing, name_of: impl Fn(NodeId) -> Symbol) {
        match crossing {
            Crossing::Prepare(hop, from) => {
                if self.coming_of(hop).is_some() {
                    self.tell(from, HopNews::Ready(hop));
                }
            }
            Crossing::Depart(hop) => {
                if let Some(Departed { door, to, .. }) = self.departed_of(hop) {
                    let (door, to) = (*door, *to);
                    self.steps.push_back(Step::Empty(hop, door, to));
                }
            }
            Crossing::Pass(hop, node) => self.handle_followed(hop, node, name_of(node)),
            Crossing::Follow(hop, source) => self.tell(source, HopNews::Follow(hop)),
        }
    }

    /// Another node is lost. To be told before its agents are forgotten.
    pub fn handle_lost(&mut self, node: NodeId, name: Symbol) {
        let leaving: Vec<Symbol> =
            self.leaving.values().filter(|leaving| leaving.to == node).map(|leaving| leaving.hop.agent).collect();
        leaving.into_iter().for_each(|agent| self.stay(agent, HopError::Unreachable(name)));
        let awaited = |it: &Departed| it.others.contains(&(node, Other::Awaited));
        let departed: Vec<HopId> = self.departed.values().filter(|it| awaited(it)).map(|it| it.hop).collect();
        departed.into_iter().for_each(|hop| self.cross(Crossing::Pass(hop, node)));
        // What waits for those that are on that node is still passed on, which fails.
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
