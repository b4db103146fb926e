//! Agent management system (FIPA00023 4.2): the agents of the platform and their states.
//!
//! [`Ams`] is a state machine without I/O. Its inputs are requests ([`Ams::create`], [`Ams::step`], [`Ams::kill`],
//! [`Ams::clone_agent`], [`Ams::modify`]) and what the scheduler observed ([`Ams::handle_ended`]). Its outputs are
//! commands to the scheduler ([`Ams::poll_command`]) and, if someone observes it, changes ([`Ams::poll_change`]). After
//! each input, take commands until there are none and carry them out in order:
//!
//! ```
//! use whimbrel_platform::Time;
//! use whimbrel_platform::ams::{Ams, AgentKind, AmsCommand, LifecycleStep, NewAgent};
//!
//! let mut ams = Ams::new("home");
//! let bob = ams.create(NewAgent::new("bob", AgentKind::Native), Time::ZERO)?;
//! ams.step(bob, LifecycleStep::Start)?;
//! assert_eq!(ams.poll_command(), Some(AmsCommand::Run(bob)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod elsewhere;
mod families;
mod kind;
mod members;
mod names;
mod records;
mod search;
mod state;
mod ties;

use std::collections::VecDeque;
use std::fmt::{self, Write};
use std::time::Duration;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use whimbrel_acl::{AclMessage, Aid, Contact, Name, Performative, Symbol, Value, sym};

use self::elsewhere::Elsewhere;
pub use self::elsewhere::ElsewhereError;
use self::families::Families;
pub use self::kind::AgentKind;
use self::names::is_reserved;
pub use self::names::{NameFault, name_fault};
use self::records::{AgentRecord, Records};
pub use self::search::{AgentDescription, AgentQuery, name_fits};
pub use self::state::{AgentState, LifecycleStep, UnknownAgentState};
use self::ties::AllTies;
pub use self::ties::Ties;
use crate::limits::{AGENTS_MAX, SEARCH_RESULTS_MAX};
use crate::policy::Policy;
use crate::route::NodeId;
use crate::services::CreateError;
use crate::{EndReason, PlatformHome, Time, growth};

/// Node of agents that are on their way from one node to another.
const NOWHERE: NodeId = NodeId(u32::MAX);

/// Agent to be created.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NewAgent {
    /// Local name.
    pub name: Symbol,
    /// Request for a unique name: a number is added to a taken one (`bob`, `bob_1`, `bob_2`), the lowest that is free.
    pub unique: bool,
    /// Kind of body.
    pub kind: AgentKind,
    /// Owner; empty if there is none.
    pub owner: Symbol,
    /// Root agent of its family, if known; empty if its owner tells it.
    pub root: Symbol,
    /// Immediate start by the creator: the agent is active from the first, without a command.
    pub started: bool,
}

impl NewAgent {
    /// Returns an agent of this name without an owner, which waits to be started.
    pub fn new(name: impl Into<Symbol>, kind: AgentKind) -> Self {
        Self { name: name.into(), unique: false, kind, owner: sym::EMPTY, root: sym::EMPTY, started: false }
    }

    /// Returns the agent whose family it joins; `None` if it begins one.
    fn parent(&self) -> Option<Symbol> {
        [self.root, self.owner].into_iter().find(|parent| *parent != sym::EMPTY)
    }
}

/// Command to the scheduler. Commands about an agent that has ended meanwhile have no effect.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum AmsCommand {
    /// Give the agent turns from now on.
    Run(Aid),
    /// Give the agent no turns until told to run it; keep its messages.
    Hold(Aid),
    /// End the agent when its current turn is over, if it has one now, and report with [`Ams::handle_ended`].
    End(Aid),
    /// End the agent likewise, because its lifetime is over.
    Expire(Aid),
    /// Make `copy` with the code and state of `original` between two of its turns; then
    /// [`step`](Ams::step)`(copy, Start)`, or [`Ams::handle_ended`] if it cannot be copied.
    Copy {
        /// Agent to copy: it continues undisturbed.
        original: Aid,
        /// New agent, initiated.
        copy: Aid,
    },
}

/// Change of an agent's state.
#[derive(Clone, Debug, PartialEq)]
pub struct AmsChange {
    /// Agent that changed.
    pub agent: Aid,
    /// State before; `None` if the agent was created.
    pub from: Option<AgentState>,
    /// State now; `None` if the agent ended.
    pub to: Option<AgentState>,
    /// Reason of the agent's end, if it ended.
    pub reason: Option<EndReason>,
}

/// One line, as `--trace` prints it: `agent bob created, active`.
impl fmt::Display for AmsChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let agent = self.agent;
        match (self.from, self.to, &self.reason) {
            (None, Some(to), _) => write!(f, "agent {agent} created, {to}"),
            (Some(from), Some(to), _) => write!(f, "agent {agent} {from}, now {to}"),
            (_, None, Some(reason)) => write!(f, "agent {agent} ended: {}", reason.in_words()),
            (_, None, None) => write!(f, "agent {agent} ended"),
        }
    }
}

/// Reason why an agent cannot take a step of its life cycle.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LifecycleError {
    /// Agent that is not on this platform.
    #[error("there is no agent named {0}")]
    NoSuchAgent(Aid),
    /// Step that does not lead from the agent's state.
    #[error("cannot {step} agent {agent}: it is {state}")]
    IllegalStep {
        /// Agent.
        agent: Aid,
        /// State of the agent.
        state: AgentState,
        /// Step that was asked for.
        step: LifecycleStep,
    },
    /// State that no single step leads to.
    #[error("cannot make agent {agent} {to}: it is {state}")]
    NoStepTo {
        /// Agent.
        agent: Aid,
        /// State of the agent.
        state: AgentState,
        /// State that was asked for.
        to: AgentState,
    },
    /// Agent that was told to end.
    #[error("agent {0} is ending")]
    Ending(Aid),
}

/// Reason why an agent was not cloned.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CloneError {
    /// Original that does not exist, or is ending.
    #[error(transparent)]
    Original(#[from] LifecycleError),
    /// Original that is not active, suspended or waiting.
    #[error("cannot clone agent {agent}: it is {state}")]
    BadState {
        /// Original.
        agent: Aid,
        /// State of the original.
        state: AgentState,
    },
    /// Original that runs at a client, which cannot copy it.
    #[error("cannot clone agent {0}: it runs at a client")]
    AtClient(Aid),
    /// Copy that cannot be created.
    #[error(transparent)]
    Copy(#[from] CreateError),
}

/// Modification of an agent's record (FIPA00023 6.2.3). Unset fields stay.
//= fipa00023 6.2.3
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AgentModification {
    /// New owner.
    pub owner: Option<Symbol>,
    /// New addresses.
    pub contact: Option<Contact>,
    /// State that the agent is to take.
    pub state: Option<AgentState>,
}

/// Agent management system of one platform; see the [module](self).
#[derive(Debug)]
pub struct Ams {
    home: PlatformHome,
    records: Records,
    elsewhere: Elsewhere,
    ties: AllTies,
    families: Families,
    /// Policy with the quotas of families, and this node's name in it.
    policy: (Policy, Symbol),
    /// Ages of agents from other nodes when they arrived.
    before: FxHashMap<Symbol, Duration>,
    /// Number, by base name, below which no numbered name is free: where the search for one starts.
    next_number: FxHashMap<Symbol, u32>,
    commands: VecDeque<AmsCommand>,
    changes: VecDeque<AmsChange>,
    observed: bool,
    stopping: bool,
}

impl Ams {
    /// Returns an AMS without agents, for the platform of this name.
    pub fn new(platform: impl Into<Symbol>) -> Self {
        Self {
            home: PlatformHome::new(platform),
            records: Records::default(),
            elsewhere: Elsewhere::default(),
            ties: AllTies::default(),
            families: Families::default(),
            policy: (Policy::DEFAULT, Symbol::default()),
            before: FxHashMap::default(),
            next_number: FxHashMap::default(),
            commands: VecDeque::new(),
            changes: VecDeque::new(),
            observed: false,
            stopping: false,
        }
    }

    /// Returns the platform's name, and the addresses of its message transport.
    pub fn home(&self) -> PlatformHome {
        self.home
    }

    /// Sets the addresses at which other platforms reach this one.
    pub fn set_addresses(&mut self, addresses: Vec<String>) {
        self.home = self.home.at(addresses);
    }

    /// Returns the platform's name.
    pub fn platform(&self) -> Symbol {
        self.home.platform()
    }

    /// Sets if changes are kept for [`Ams::poll_change`]. At first they are not.
    pub fn observe(&mut self, observed: bool) {
        self.observed = observed;
        if !observed {
            self.changes = VecDeque::new();
        }
    }

    /// Returns the next command for the scheduler.
    pub fn poll_command(&mut self) -> Option<AmsCommand> {
        self.commands.pop_front()
    }

    /// Returns the next change, if changes are observed.
    pub fn poll_change(&mut self) -> Option<AmsChange> {
        self.changes.pop_front()
    }

    /// Creates an agent: initiated, or active if it is `started` by its creator.
    ///
    /// # Errors The name is empty, too long, not local or taken. The node has as many agents, or as much memory, as it
    /// may. The platform is stopping.
    pub fn create(&mut self, new: NewAgent, now: Time) -> Result<Aid, CreateError> {
        let name = self.free_name_for(new.name, new.unique, new.kind)?;
        let new = NewAgent { name, ..new };
        if new.kind != AgentKind::Service {
            self.room_for(new.parent().unwrap_or(name), 1)?;
        }
        self.join_family(new, now)?;
        Ok(self.add(name, new, now))
    }

    fn join_family(&mut self, new: NewAgent, now: Time) -> Result<(), CreateError> {
        let Some(parent) = new.parent() else { return Ok(()) };
        let (policy, node) = &self.policy;
        self.families.join(new.name, parent, now, |root| policy.owner_terms(root, *node))
    }

    /// Counts an agent for its family, whatever the family's quotas say.
    fn count_for_family(&mut self, new: NewAgent) {
        let Some(parent) = new.parent() else { return };
        let Self { families, policy: (policy, node), records, elsewhere, .. } = self;
        let exists = |root| records.contains(root) || elsewhere.contains(&Name::from(root));
        families.take_in(new.name, parent, |root| policy.owner_terms(root, *node), exists);
    }

    /// Removes an agent that is gone from its family.
    fn leave_family(&mut self, name: Symbol) {
        let Self { families, records, elsewhere, .. } = self;
        families.leave(name, |root| records.contains(root) || elsewhere.contains(&Name::from(root)));
    }

    /// Checks that the node has room for this many more agents: named `who`, or created by an agent of that name.
    ///
    /// # Errors
    /// The node has as many agents, or as much memory, as it may.
    pub fn room_for(&self, who: Symbol, count: usize) -> Result<(), CreateError> {
        let (policy, node) = &self.policy;
        let root = if policy.has_quotas() { self.families.root_of(who) } else { who };
        let agents_max = policy.node_agents(root, *node);
        if self.records.agents().saturating_add(count) > agents_max {
            return Err(CreateError::TooManyAgents { agents_max });
        }
        if growth::is_short()
            && let Some(bytes_max) = growth::exceeded(policy.node_memory_bytes(root, *node))
        {
            return Err(CreateError::TooLittleMemory { bytes_max });
        }
        Ok(())
    }

    /// Returns the number of agents on the node, without the platform's own, and the number that it may have.
    pub fn occupancy(&self) -> (usize, usize) {
        let (policy, node) = &self.policy;
        (self.records.agents(), policy.node_agents(Symbol::default(), *node))
    }

    /// Returns the number of agents that began or arrived on the node so far, without the platform's own.
    pub fn agents_added(&self) -> u64 {
        self.records.agents_added()
    }

    /// Creates an agent as [`Ams::create`] does, whatever its family's quotas say: for one that existed before, or that
    /// its creator was already promised.
    ///
    /// # Errors
    /// Errors of [`Ams::create`], except those of families.
    pub fn create_again(&mut self, new: NewAgent, now: Time) -> Result<Aid, CreateError> {
        let name = self.free_name_for(new.name, new.unique, new.kind)?;
        self.count_for_family(NewAgent { name, ..new });
        Ok(self.add(name, new, now))
    }

    /// Sets the policy for the families of agents, and the name of this node in it. Each family keeps the terms of its
    /// first agent.
    pub fn govern(&mut self, policy: Policy, node: Symbol) {
        self.policy = (policy, node);
    }

    /// Returns when a new agent may begin and its creator continue, if that is later than `now` because their family
    /// creates too fast.
    pub fn creation_due(&self, name: Symbol, now: Time) -> Option<Time> {
        self.families.due(name, now)
    }

    /// Returns the `failure` that tells an agent's owner, if it has one, that the agent ended for this reason. Its
    /// content is `failed(Reason)`.
    pub fn failure_to_owner(&self, agent: Aid, reason: &str) -> Option<AclMessage> {
        let owner = self.describe(agent)?.owner;
        let content = Value::term("failed", [Value::Str(reason.into())]);
        (owner != sym::EMPTY).then(|| AclMessage::new(Performative::Failure, agent, Aid::local(owner), content))
    }

    /// Returns the root of an agent's family: the agent itself, if nobody created it.
    pub fn root_of(&self, agent: Symbol) -> Symbol {
        self.families.root_of(agent)
    }

    /// Takes a condemned family, which does not stop at refusals: its root, and all its agents on this node.
    pub fn take_condemned(&mut self) -> Option<(Symbol, Vec<Symbol>)> {
        self.families.take_condemned()
    }

    /// Creates `count` agents `name1`, `name2`, ... alike; all or none.
    ///
    /// # Errors
    /// As those of [`Ams::create`], for the first agent that cannot be created.
    pub fn create_population(&mut self, new: NewAgent, count: usize, now: Time) -> Result<Vec<Aid>, CreateError> {
        self.admit(count)?;
        self.room_for(new.name, count)?;
        check_name(new.name, new.kind)?;
        let mut text = String::from(new.name.as_str());
        let mut names = Vec::with_capacity(count);
        for number in 1..=count {
            text.truncate(new.name.as_str().len());
            let _ = write!(text, "{number}");
            let name = Symbol::new(&text);
            if self.is_taken(name) {
                return Err(CreateError::NameTaken(name));
            }
            names.push(name);
        }
        self.records.reserve(count);
        Ok(names.into_iter().map(|name| self.add(name, new, now)).collect())
    }

    /// Takes `agent` one step through its life cycle.
    ///
    /// # Errors
    /// There is no such agent, it is ending, or the step does not lead from its state.
    //= fipa00023 5.1
    pub fn step(&mut self, agent: Aid, step: LifecycleStep) -> Result<(), LifecycleError> {
        let record = self.living(agent)?;
        let from = record.state;
        let to = from.after(step).ok_or(LifecycleError::IllegalStep { agent, state: from, step })?;
        record.state = to;
        let aid = record.aid;
        self.commands.push_back(if to == AgentState::Active { AmsCommand::Run(aid) } else { AmsCommand::Hold(aid) });
        self.note(aid, Some(from), Some(to), None);
        Ok(())
    }

    /// Ends `agent` by force (FIPA00023's `destroy`). Its name is free once the scheduler reports its end. Killing an
    /// agent that is ending already changes nothing.
    ///
    /// # Errors
    /// There is no such agent.
    pub fn kill(&mut self, agent: Aid) -> Result<(), LifecycleError> {
        let record = self.record_mut(agent).ok_or(LifecycleError::NoSuchAgent(agent))?;
        if !record.ending {
            record.ending = true;
            let aid = record.aid;
            self.commands.push_back(AmsCommand::End(aid));
        }
        Ok(())
    }

    /// Returns the ties of an agent of this node.
    pub fn ties(&self, agent: Aid) -> Ties {
        self.ties.of(agent.name)
    }

    /// Sets the ties of an agent. The caller of [`Ams::expire`] must look at [`Ams::next_end`] then.
    ///
    /// # Errors
    /// There is no such agent on this node, or it is ending.
    pub fn tie(&mut self, agent: Aid, ties: Ties) -> Result<(), LifecycleError> {
        let name = self.living(agent)?.aid.name;
        self.ties.set(name, ties);
        Ok(())
    }

    /// Returns the time when the first agent's lifetime is over.
    pub fn next_end(&self) -> Time {
        self.ties.next_end()
    }

    /// Ends the agents whose lifetime is over. Returns each with its owner, which is empty if it has none.
    pub fn expire(&mut self, now: Time) -> Vec<(Aid, Symbol)> {
        let mut expired = Vec::new();
        while let Some(name) = self.ties.take_due(now) {
            if let Ok(record) = self.living(Aid::local(name)) {
                record.ending = true;
                let (aid, owner) = (record.aid, record.owner);
                self.commands.push_back(AmsCommand::Expire(aid));
                expired.push((aid, owner));
            }
        }
        expired
    }

    /// Creates a second agent with the code and state of `original`, of the same owner. It is initiated until the
    /// scheduler copied the original and starts it.
    ///
    /// # Errors
    /// There is no original, it is ending, initiated or in transit; or the copy cannot be created.
    pub fn clone_agent(&mut self, original: Aid, copy: Symbol, now: Time) -> Result<Aid, CloneError> {
        let record = *self.living(original)?;
        if matches!(record.state, AgentState::Initiated | AgentState::Transit) {
            return Err(CloneError::BadState { agent: original, state: record.state });
        }
        if record.kind == AgentKind::Session {
            return Err(CloneError::AtClient(original));
        }
        let root = self.families.root_of(record.aid.name);
        let new = NewAgent { owner: record.owner, root, ..NewAgent::new(copy, record.kind) };
        let copy = self.create(new, now)?;
        self.ties.set(copy.name, self.ties.of(record.aid.name));
        self.commands.push_back(AmsCommand::Copy { original: record.aid, copy });
        Ok(copy)
    }

    /// Changes an agent's record: all that `modification` says, or nothing.
    ///
    /// # Errors
    /// There is no such agent, it is ending, or no single step leads from its state to the one asked for.
    //= fipa00023 6.2.3
    pub fn modify(&mut self, agent: Aid, modification: AgentModification) -> Result<(), LifecycleError> {
        let state = self.living(agent)?.state;
        if let Some(to) = modification.state
            && to != state
        {
            let step = LifecycleStep::between(state, to);
            self.step(agent, step.ok_or(LifecycleError::NoStepTo { agent, state, to })?)?;
        }
        let record = self.living(agent)?;
        if let Some(owner) = modification.owner {
            record.owner = owner;
        }
        if let Some(contact) = modification.contact {
            record.aid = record.aid.with_contact(contact);
        }
        Ok(())
    }

    /// Removes the record of an agent that ended, as the scheduler reports; its name is free then. Returns false if
    /// there was none.
    pub fn handle_ended(&mut self, agent: Aid, reason: EndReason) -> bool {
        let removed = self.local_name(agent).and_then(|name| self.records.remove(name));
        if let Some(record) = removed {
            self.ties.remove(record.aid.name);
            self.leave_family(record.aid.name);
            self.before.remove(&record.aid.name);
            self.free_number(record.aid.name);
            self.note(record.aid, Some(record.state), None, Some(reason));
        }
        removed.is_some()
    }

    /// Tells every agent but the platform's own to end, in order of creation; no agent can be created any more.
    pub fn stop(&mut self) {
        self.stopping = true;
        let agents: Vec<Aid> = self.agents().collect();
        for agent in agents {
            let _ = self.kill(agent);
        }
    }

    /// Returns true if `agent` is an agent of this platform, ending or not, on any node.
    pub fn exists(&self, agent: Aid) -> bool {
        self.local_name(agent).is_some_and(|name| self.is_taken(name))
    }

    /// Returns the agent's state; `None` (FIPA's `unknown`) if it is not on this platform.
    pub fn state(&self, agent: Aid) -> Option<AgentState> {
        self.record(agent).map(|record| record.state)
    }

    /// Returns the description of one agent.
    pub fn describe(&self, agent: Aid) -> Option<AgentDescription> {
        self.record(agent).map(|record| self.description(record))
    }

    /// Returns the agents that fit, in order of creation, those that are ending included.
    //= fipa00023 6.2.4
    pub fn search(&self, query: &AgentQuery) -> Vec<AgentDescription> {
        let candidates: Box<dyn Iterator<Item = &AgentRecord>> = if query.is_exact() {
            // A name that is searched in vain must not be kept.
            Box::new(Symbol::known(&query.name).and_then(|name| self.records.find(name)).into_iter())
        } else {
            Box::new(self.records.iter())
        };
        let found = candidates.filter(|record| {
            query.state.is_none_or(|state| record.state == state)
                && query.kind.is_none_or(|kind| record.kind == kind)
                && query.owner.is_none_or(|owner| record.owner == owner)
                && (query.name.is_empty() || name_fits(&query.name, record.aid.name.as_str()))
        });
        let page = found.skip(query.skip).take(query.results_max.min(SEARCH_RESULTS_MAX));
        page.map(|record| self.description(record)).collect()
    }

    /// Returns the agents of other nodes that fit, by name, `results_max` at most. Their states and owners are unknown
    /// here: no agent fits a query for one of these, and none is skipped.
    //= fipa00023 6.2.4
    pub fn search_elsewhere(&self, query: &AgentQuery) -> Vec<Aid> {
        if query.state.is_some() || query.owner.is_some() {
            return Vec::new();
        }
        let known = || Symbol::known(&query.name).filter(|name| self.elsewhere.contains(&Name::from(*name)));
        let names: Vec<Symbol> = if query.is_exact() {
            let kind_of = |name: &Symbol| self.elsewhere.kind_of(&Name::from(*name));
            let of_kind = |name: &Symbol| query.kind.is_none_or(|kind| kind_of(name) == Some(kind));
            known().filter(of_kind).into_iter().take(query.results_max).collect()
        } else {
            let found = self.elsewhere.first_fitting(query.results_max, &query.name, query.kind);
            found.into_iter().map(Name::symbol).collect()
        };
        names.into_iter().map(|name| Aid::new(name, self.home.platform())).collect()
    }

    /// Returns the society's agents in order of creation, without the platform's own and those that are ending.
    pub fn agents(&self) -> impl Iterator<Item = Aid> + '_ {
        let counts = |record: &&AgentRecord| record.kind != AgentKind::Service && !record.ending;
        self.records.iter().filter(counts).map(|record| record.aid)
    }

    /// Returns the number of agents, the platform's own and those that are ending included.
    pub fn agent_count(&self) -> usize {
        self.records.len()
    }

    /// Returns the bytes of the records with their index, without the names, which are shared.
    pub fn bytes(&self) -> usize {
        self.records.bytes()
    }

    /// Returns the whole state between two inputs, once all commands are carried out.
    pub fn snapshot(&self) -> AmsSnapshot {
        AmsSnapshot { platform: self.home.platform(), records: self.records.iter().copied().collect() }
    }

    /// Restores an AMS from its snapshot.
    pub fn restore(snapshot: AmsSnapshot) -> Self {
        let mut ams = Self::new(snapshot.platform);
        ams.records = snapshot.records.into_iter().collect();
        ams
    }

    /// Moves an agent of this node to another one: the node `to`, or one that will announce it
    /// ([`Ams::handle_elsewhere`]). The agent's name stays taken.
    pub fn handle_left(&mut self, name: Symbol, to: Option<NodeId>) {
        if let Some(record) = self.records.remove(name) {
            self.ties.remove(name);
            self.before.remove(&name);
            self.elsewhere.add_own(name.into(), to.unwrap_or(NOWHERE), record.kind);
            self.leave_family(name);
        }
    }

    /// Bounds the bytes that the agents of one other node may take here. The default is [`AGENTS_ELSEWHERE_BYTES_MAX`].
    ///
    /// [`AGENTS_ELSEWHERE_BYTES_MAX`]: crate::limits::AGENTS_ELSEWHERE_BYTES_MAX
    pub fn limit_elsewhere(&mut self, bytes_max: u64) {
        self.elsewhere.limit(bytes_max);
    }

    /// Notes that an agent of another node continues on this one, in this state, with its age. Observers learn of no
    /// new agent.
    pub fn handle_arrived(&mut self, new: NewAgent, from: NodeId, state: AgentState, now: Time, lived: Duration) {
        self.elsewhere.remove(&new.name.into(), from);
        if !self.records.contains(new.name) {
            let NewAgent { name, kind, owner, .. } = new;
            self.records.add(AgentRecord { aid: Aid::local(name), owner, created: now, kind, state, ending: false });
            self.before.insert(name, lived);
            self.count_for_family(new);
        }
    }

    /// Notes that an agent of this node, named `here`, belongs to a session from now on. Returns false if it did
    /// before, or is not here. Unlike agents that sessions create, it may be recalled home, so its home is set.
    pub fn handle_lodged(&mut self, agent: Aid, here: Symbol) -> bool {
        let Some(record) = self.records.find_mut(agent.name) else { return false };
        let left = std::mem::replace(&mut record.kind, AgentKind::Session) != AgentKind::Session;
        let ties = self.ties.of(agent.name);
        if left && ties.home == Symbol::default() {
            self.ties.set(agent.name, Ties { home: here, ..ties });
        }
        left
    }

    /// Returns the name that an agent would have if it were created now. This is `name`, or, if `name` is taken and a
    /// `unique` one is wanted, the next free name.
    ///
    /// # Errors
    /// As those of [`Ams::create`].
    pub fn free_name_for(&mut self, name: Symbol, unique: bool, kind: AgentKind) -> Result<Symbol, CreateError> {
        self.admit(1)?;
        check_name(name, kind)?;
        match self.is_taken(name) {
            false => Ok(name),
            true if unique => Ok(self.free_name(name)),
            true => Err(CreateError::NameTaken(name)),
        }
    }

    /// Notes that another node, `there` if known, is to make an agent of this name: its family on this node counts it
    /// from now on. `is_paid` is true if the creation was charged before.
    ///
    /// # Errors
    /// The name is taken, the other node has more agents than can be known here, or the family may not have one more
    /// agent now.
    pub fn handle_awaited(
        &mut self,
        new: NewAgent,
        there: Option<NodeId>,
        now: Time,
        is_paid: bool,
    ) -> Result<(), CreateError> {
        if self.is_taken(new.name) {
            return Err(CreateError::NameTaken(new.name));
        }
        match is_paid {
            true => self.count_for_family(new),
            false => self.join_family(new, now)?,
        }
        if !self.elsewhere.add(new.name.into(), there.unwrap_or(NOWHERE), new.kind) {
            self.leave_family(new.name);
            return Err(CreateError::NoRoomElsewhere(new.name));
        }
        Ok(())
    }

    /// Enters an agent of another node.
    ///
    /// # Errors
    /// This node has an agent of this name, or that node has more than can be known here: then nothing changes.
    pub fn handle_elsewhere(
        &mut self,
        name: impl Into<Name>,
        node: NodeId,
        kind: AgentKind,
    ) -> Result<(), ElsewhereError> {
        let name = name.into();
        // Names of agents here are all symbols.
        if name.known().is_some_and(|name| self.records.contains(name)) {
            return Err(ElsewhereError::NameTaken);
        }
        if self.elsewhere.add(name, node, kind) { Ok(()) } else { Err(ElsewhereError::NoRoom) }
    }

    /// Notes that an agent of another node ended. Returns false if that node had none of this name.
    pub fn handle_ended_elsewhere(&mut self, name: &Name, node: NodeId) -> bool {
        let removed = self.elsewhere.remove(name, node);
        if let Some(name) = name.known().filter(|_| removed) {
            self.leave_family(name);
        }
        removed
    }

    /// Notes that a node is lost. Returns the names of its agents.
    pub fn handle_node_lost(&mut self, node: NodeId) -> Vec<Name> {
        let lost = self.elsewhere.remove_node(node);
        lost.iter().filter_map(Name::known).for_each(|name| self.leave_family(name));
        lost
    }

    /// Returns the agents of other nodes, by name.
    pub fn agents_elsewhere(&self) -> Vec<(Name, NodeId, AgentKind)> {
        self.elsewhere.iter()
    }

    /// Returns the agents of another node, in no order.
    pub fn agents_on(&self, node: NodeId) -> Vec<Name> {
        self.elsewhere.agents_on(node)
    }

    /// Returns the other node on which an agent of this name lives.
    pub fn node_of(&self, name: impl Into<Name>) -> Option<NodeId> {
        self.elsewhere.node_of(&name.into())
    }

    /// Returns the other node on which an agent lives, and its kind of body.
    pub fn elsewhere(&self, name: &Name) -> Option<(NodeId, AgentKind)> {
        self.elsewhere.node_of(name).zip(self.elsewhere.kind_of(name))
    }

    /// Returns the kind of an agent of this node.
    pub fn kind(&self, agent: Aid) -> Option<AgentKind> {
        self.record(agent).map(|record| record.kind)
    }

    /// Returns the kind of an agent of this or another node.
    pub fn kind_anywhere(&self, agent: Aid) -> Option<AgentKind> {
        self.kind(agent).or_else(|| self.elsewhere.kind_of(&agent.name.into()))
    }

    /// Returns this node's agents that others can write to, with their kinds: all but `ams` and `df`, which each node
    /// has.
    pub fn reachable(&self) -> impl Iterator<Item = (Symbol, AgentKind)> + '_ {
        let known = self.records.iter().map(|record| (record.aid.name, record.kind));
        known.filter(|(name, _)| !is_everywhere(*name))
    }

    fn is_taken(&self, name: Symbol) -> bool {
        self.records.contains(name) || self.elsewhere.contains(&name.into())
    }

    /// Returns the local name, if `aid` is of this platform.
    fn local_name(&self, aid: Aid) -> Option<Symbol> {
        (aid.platform == sym::EMPTY || aid.platform == self.home.platform()).then_some(aid.name)
    }

    fn record(&self, agent: Aid) -> Option<&AgentRecord> {
        self.records.find(self.local_name(agent)?)
    }

    fn record_mut(&mut self, agent: Aid) -> Option<&mut AgentRecord> {
        let name = self.local_name(agent)?;
        self.records.find_mut(name)
    }

    fn living(&mut self, agent: Aid) -> Result<&mut AgentRecord, LifecycleError> {
        let record = self.record_mut(agent).ok_or(LifecycleError::NoSuchAgent(agent))?;
        if record.ending { Err(LifecycleError::Ending(agent)) } else { Ok(record) }
    }

    fn description(&self, record: &AgentRecord) -> AgentDescription {
        let aid = record.aid.at(self.home.platform());
        let AgentRecord { owner, state, kind, created, ending, .. } = *record;
        let before = self.before.get(&aid.name).copied().unwrap_or_default();
        AgentDescription { aid, owner, state, kind, created, before, ending }
    }

    fn admit(&self, count: usize) -> Result<(), CreateError> {
        if self.stopping {
            return Err(CreateError::Stopping);
        }
        if self.records.len().saturating_add(count) > AGENTS_MAX {
            return Err(CreateError::TooManyAgents { agents_max: AGENTS_MAX });
        }
        Ok(())
    }

    fn free_name(&mut self, base: Symbol) -> Symbol {
        let mut number = self.next_number.get(&base).copied().unwrap_or(1);
        loop {
            let name = Symbol::new(&format!("{base}_{number}"));
            number += 1;
            if !self.is_taken(name) {
                self.next_number.insert(base, number);
                return name;
            }
        }
    }

    fn free_number(&mut self, name: Symbol) {
        if self.next_number.is_empty() {
            return;
        }
        let numbered = name.as_str().rsplit_once('_').and_then(|(base, n)| Some((base, n.parse::<u32>().ok()?)));
        if let Some((base, number)) = numbered
            && let Some(next) = self.next_number.get_mut(&Symbol::new(base))
        {
            *next = number.min(*next);
        }
    }

    fn add(&mut self, name: Symbol, new: NewAgent, now: Time) -> Aid {
        let state = if new.started { AgentState::Active } else { AgentState::Initiated };
        let aid = Aid::local(name);
        self.records.add(AgentRecord { aid, owner: new.owner, created: now, kind: new.kind, state, ending: false });
        self.note(aid, None, Some(state), None);
        aid
    }

    fn note(&mut self, agent: Aid, from: Option<AgentState>, to: Option<AgentState>, reason: Option<EndReason>) {
        if self.observed {
            self.changes.push_back(AmsChange { agent, from, to, reason });
        }
    }
}

/// State of an AMS, as data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AmsSnapshot {
    platform: Symbol,
    records: Vec<AgentRecord>,
}

/// Returns true if every node has its own agent of this name.
pub fn is_everywhere(name: Symbol) -> bool {
    name == sym::AMS || name == sym::DF
}

/// Checks the name of a new agent. Only the platform itself uses reserved names.
fn check_name(name: Symbol, kind: AgentKind) -> Result<(), CreateError> {
    match name_fault(name.as_str()) {
        Some(NameFault::Reserved(_)) if kind == AgentKind::Service && is_reserved(name.as_str()) => Ok(()),
        Some(why) => Err(CreateError::BadName { name, why }),
        None => Ok(()),
    }
}
