//! Services: what agents ask of the platform during a turn, answered at once from this node's own state.

use std::sync::Arc;
use std::time::Duration;

use whimbrel_acl::{AclMessage, Aid, Symbol, Text, Value, sym};

use crate::advice::{AdviceCall, AdviseError, DocumentJob, JobError};
use crate::ams::NameFault;
use crate::audit::{Act, Party, Refused};
use crate::df::{RegisterError, ServiceDescription};
use crate::environment::{ActError, NodeEnvironment};
use crate::foreign_actions::SharedForeignActions;
use crate::limits::AGENTS_ELSEWHERE_BYTES_MAX;
use crate::policy::{Action, Policy, Principal, Verdict};
use crate::storage::NodeStorage;

static NO_RULES: Policy = Policy::DEFAULT;

use crate::topics::TopicError;

/// Services of the platform for an agent. The scheduler implements them over the AMS and DF, and so do platforms of one
/// thread ([`LocalServices`](crate::local::LocalServices)).
pub trait Services: Send + Sync {
    /// Returns the platform's name.
    fn platform(&self) -> Symbol;

    /// Prints a line of an agent's output.
    fn print(&self, agent: Aid, text: &str);

    /// Prints text as it is, without the agent's name and without ending the line.
    fn print_bare(&self, agent: Aid, text: &str) {
        self.print(agent, text);
    }

    /// Notes something about an agent for its operator.
    fn log(&self, agent: Aid, level: LogLevel, text: &str);

    /// Returns the milliseconds since 1970-01-01 UTC.
    fn wall_clock_ms(&self) -> u64;

    /// Returns the time right now, within a turn too (a turn's `now` is its start).
    fn now(&self) -> crate::Time;

    /// Returns a random number, uniform over all 64 bits: for seeds, never for secrets.
    fn random(&self) -> u64;

    /// Returns all agents of the platform but its own service agents, in order of creation.
    fn agents(&self) -> Vec<Aid>;

    /// Returns true if a message to `aid` has somewhere to go.
    fn exists(&self, aid: Aid) -> bool;

    /// Returns true if `teacher` may give `pupil` plans, or take them from it. A teacher can make its pupil do anything
    /// that the pupil can do.
    fn may_teach(&self, _teacher: Aid, _pupil: Aid) -> bool {
        true
    }

    /// Creates an agent. It exists when this returns; its first turn comes later.
    ///
    /// # Errors
    /// The name is taken, or the source is not available or does not compile.
    fn create(&self, request: CreateAgent) -> Result<Aid, CreateError>;

    /// Ends an agent. Returns false if there is none of that name. Its name is free when its current turn is over.
    fn kill(&self, agent: Aid) -> bool;

    /// Returns true if this agent of this node is being ended, by order or with the whole node, while it has a turn.
    fn is_ending(&self, agent: Aid) -> bool {
        !self.exists(agent)
    }

    /// Sets the lifetime of an agent of this node, from now on: it ends after that, wherever it is then. The AMS tells
    /// its owner (an `inform` whose content is `ended(Name, expired)`). Returns false if there is no such agent on this
    /// node, or this platform cannot.
    fn set_lifetime(&self, _agent: Aid, _lifetime: Duration) -> bool {
        false
    }

    /// Recalls an agent to the node that it was created on, wherever it is; a journey that it is on is over. The AMS
    /// tells the `asker` the outcome: an `inform` whose content is `recalled(Name)`, or, if the agent stays where it
    /// is, `not_recalled(Name, Error, Why)`. Returns false if there is no such agent, or this platform cannot.
    fn recall(&self, _asker: Aid, _agent: Aid) -> bool {
        false
    }

    /// Finds out if `agent` should go to that node for this job, or ask there. Sends the message that `tell` makes of
    /// the advice, or returns it, if it is known at once. A malformed job is an outcome, too.
    fn advise(
        &self,
        _agent: Aid,
        _node: Symbol,
        job: Result<DocumentJob, JobError>,
        tell: AdviceCall,
    ) -> Option<AclMessage> {
        Some(tell(job.map_err(AdviseError::from).and(Err(AdviseError::OneNode))))
    }

    /// Ends the platform after `delay_ms`, with this exit code.
    fn stop(&self, delay_ms: u64, code: i32);

    /// Registers a service of `agent` with the DF; `kind` may be empty.
    ///
    /// # Errors
    /// The policy forbids it, or the DF refuses it. The node's log has the reason.
    fn df_register(&self, agent: Aid, service: &str, kind: &str) -> Result<(), OfferError>;

    /// Registers a service of `agent` with all that its description says; it replaces one of the same name and type.
    ///
    /// # Errors
    /// The policy forbids it, or the DF refuses it. The node's log has the reason.
    fn df_offer(&self, agent: Aid, service: ServiceDescription) -> Result<(), OfferError> {
        self.df_register(agent, service.name.as_str(), service.kind.as_str())
    }

    /// Removes a service of `agent` from the DF. Returns false if it offered none like that.
    fn df_deregister(&self, agent: Aid, service: &str, kind: &str) -> bool;

    /// Returns the agents that offer a service; empty strings match any.
    fn df_search(&self, service: &str, kind: &str) -> Vec<Aid>;

    /// Subscribes `agent` to providers of a service, present and to come. The DF sends an `inform` for each, whose
    /// content is `provider(Agent, Service)`.
    fn df_subscribe(&self, agent: Aid, service: &str, kind: &str);

    /// Subscribes `agent`, whose turn it is, to a topic (`topic:NAME`), or makes it a member of a group (`group:NAME`).
    /// Messages sent on this node reach the agent from now on, those of other nodes once these have learned of it.
    /// Repeating has no effect. Ends with the agent, or by [`Services::leave`].
    ///
    /// # Errors
    /// The name is no topic and no group, there are too many, or this platform has none.
    fn join(&self, _agent: Aid, _to: Aid) -> Result<(), TopicError> {
        Err(TopicError::Unsupported)
    }

    /// Ends what [`Services::join`] began. Returns false if there is nothing to end. Messages on their way to the agent
    /// still arrive.
    fn leave(&self, _agent: Aid, _from: Aid) -> bool {
        false
    }

    /// Returns the members of a group (`group:NAME`) as far as this node knows, its own first.
    fn members(&self, _group: Aid) -> Vec<Aid> {
        Vec::new()
    }

    /// Monitors `agent` for `watcher`. When the agent ends, or at once if there is none, the watcher gets an `inform`
    /// from the AMS with the content `ended(Name, Reason)`. Returns false if this platform cannot.
    fn monitor(&self, _watcher: Aid, _agent: Aid) -> bool {
        false
    }

    /// Ends what [`Services::monitor`] began. Returns false if there is nothing to end.
    fn unmonitor(&self, _watcher: Aid, _agent: Aid) -> bool {
        false
    }

    /// Offloads work that blocks or takes long from the threads that give turns; then sends the message that it
    /// returns.
    ///
    /// # Errors
    /// This platform cannot; the work comes back.
    fn offload(&self, work: OffloadedWork) -> Result<(), OffloadedWork> {
        Err(work)
    }

    /// Returns this node's directories, for the platform's own agents; `None` if there are none (a stub).
    fn directory(&self) -> Option<&dyn crate::Directory> {
        None
    }

    /// Returns the policy.
    fn policy(&self) -> &Policy {
        &NO_RULES
    }

    /// Returns the environment of this name, on which agents can act if the policy grants it.
    fn environment(&self, _name: &str) -> Option<Arc<dyn NodeEnvironment>> {
        None
    }

    /// Returns the host of foreign actions (`py.fun`); `None` if this platform has none.
    fn foreign_actions(&self) -> Option<SharedForeignActions> {
        None
    }

    /// Returns the storage of WebAssembly agents on this node; `None` if they can store nothing.
    fn storage(&self) -> Option<&NodeStorage> {
        None
    }

    /// Returns the name of this node; empty where places have no names.
    fn node(&self) -> Symbol {
        sym::EMPTY
    }

    /// Returns the nodes that are linked with this one, and this node itself, in the order of their names. A platform
    /// of one node returns none.
    fn nodes(&self) -> Vec<Symbol> {
        Vec::new()
    }

    /// Returns the principal of `agent` for the policy. Do not call it while a [directory](Services::directory) is
    /// borrowed.
    fn principal(&self, agent: Aid) -> Principal {
        Principal::Agent { name: agent.name, node: self.node() }
    }

    /// Returns the payer whose share of a scarce resource `agent` uses: a session's token or certificate, an agent's
    /// owner, or another node. All agents of a payer share. Returns `None` if the agent pays for itself.
    fn payer(&self, _agent: Aid) -> Option<Text> {
        None
    }

    /// Notes that registrations of `agent` (its entry in the DF, its subscriptions there) changed in another agent's
    /// turn. A durable platform has them written.
    fn note_standing(&self, _agent: Aid) {}

    /// Calls `then` when this turn's effects are written to the journal: at once, if none are.
    fn once_written(&self, then: Box<dyn FnOnce() + Send>) {
        then();
    }

    /// Counts and records a refusal.
    fn audit(&self, _refused: &Refused<'_>) {}

    /// Records an allowed act.
    fn note_act(&self, _act: &Act<'_>) {}

    /// Reads program text (an `include` or a plan file) by the path that a program names.
    ///
    /// # Errors
    /// The reason why it cannot be read.
    fn read_source(&self, path: &str) -> Result<String, String>;

    /// Returns the files in a folder that a program names, and in the folders within it; none if the platform has no
    /// files.
    fn list_files(&self, folder: &str) -> Vec<String> {
        let _ = folder;
        Vec::new()
    }

    /// Writes text to a file that the program names (`.save_agent`).
    ///
    /// # Errors
    /// The reason why it cannot be written.
    fn write_file(&self, path: &str, text: &str) -> Result<(), String>;
}

impl dyn Services + '_ {
    /// Returns true if `who` may do this. Records refusals, and acts that are recorded.
    pub fn permits(&self, who: Principal, action: Action, object: &str) -> bool {
        let may = self.policy().allows(who, action, object);
        if !may {
            self.forbid(who, action, object);
        } else if action.is_recorded() {
            self.note_allowed(who, action, object);
        }
        may
    }

    /// Records that a principal was allowed to act.
    pub fn note_allowed(&self, who: Principal, action: Action, object: &str) {
        let who = who.to_string();
        let who = Party::named(&who);
        self.note_act(&Act { who, from: "", action: action.as_str(), object, detail: "" });
    }

    /// Lets an environment of this node act for `agent`, if the policy grants it.
    ///
    /// # Errors
    /// The policy does not grant it, there is none of this name, or it refuses.
    pub fn act(&self, agent: Aid, environment: &str, request: &Value) -> Result<Value, ActError> {
        if !self.policy().grants_environment(self.principal(agent), environment) {
            return Err(ActError::Denied(environment.to_owned()));
        }
        let Some(found) = self.environment(environment) else { return Err(ActError::Unknown(environment.to_owned())) };
        found.act(agent, request).map_err(ActError::Failed)
    }

    /// Returns the verdict of the policy's rules. Records refusals.
    pub fn verdict(&self, who: Principal, action: Action, object: &str) -> Verdict {
        let verdict = self.policy().verdict(who, action, object);
        if verdict == Verdict::Denied {
            self.forbid(who, action, object);
        }
        verdict
    }

    #[cold]
    fn forbid(&self, who: Principal, action: Action, object: &str) {
        self.audit(&Refused::forbidden(&who.to_string(), action, object));
    }
}

/// Work done on another thread, which returns a message about its outcome.
pub type OffloadedWork = Box<dyn FnOnce() -> AclMessage + Send>;

/// Level of a log entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// Shown only when asked for.
    Debug,
    /// Information.
    Info,
    /// Notice for the operator: nothing is wrong.
    Notice,
    /// Warning: something is probably wrong.
    Warning,
    /// Failure.
    Severe,
}

/// Request to create an agent.
#[derive(Debug)]
pub struct CreateAgent {
    /// Local name; made unique by a number if `unique` is set and the name is taken.
    pub name: Symbol,
    /// Request to make the name unique.
    pub unique: bool,
    /// Creator, for the AMS's records.
    pub owner: Option<Aid>,
    /// Code and first state.
    pub source: AgentSource,
}

/// Source of a new agent's code.
pub enum AgentSource {
    /// Program file, found and compiled by the node.
    Program {
        /// Path that the creator named.
        path: String,
        /// Initial beliefs and goals beyond the file's, and options, by the keys of `.mas2j`.
        options: Vec<(Symbol, Value)>,
    },
    /// Finished body.
    Body(Box<dyn crate::AgentBody>),
}

impl std::fmt::Debug for AgentSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Program { path, options } => {
                f.debug_struct("Program").field("path", path).field("options", options).finish()
            }
            Self::Body(_) => f.write_str("Body"),
        }
    }
}

/// Reason why a service was not registered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OfferError {
    /// Service that the policy does not let the agent register.
    #[error("the policy forbids to register the service {0}")]
    Forbidden(String),
    /// Refusal by the DF.
    #[error(transparent)]
    Refused(#[from] RegisterError),
}

/// Reason why an agent was not created.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CreateError {
    /// Name of another agent.
    #[error("an agent named {0} exists already")]
    NameTaken(Symbol),
    /// Name whose owner is not known yet: its node is still resuming agents.
    #[error("it is not known yet if an agent named {0} exists: try again")]
    NotYet(Symbol),
    /// Another node would have the agent, and has more already than can be known here.
    #[error(
        "no room for {0}: what is known of the agents of one other node may take {AGENTS_ELSEWHERE_BYTES_MAX} bytes \
         here; end some of that node's agents, or use more nodes"
    )]
    NoRoomElsewhere(Symbol),
    /// Name that no new agent can have.
    #[error("{name:?} is no name for an agent: {why}")]
    BadName {
        /// Name.
        name: Symbol,
        /// Fault of the name.
        why: NameFault,
    },
    /// Node with as many agents as it may hold.
    #[error("no room for more agents: the node may have {agents_max} (`node_agents` in a `[[quota]]` of the policy)")]
    TooManyAgents {
        /// Number of agents that it may hold.
        agents_max: usize,
    },
    /// Process with more memory than agents may fill.
    #[error(
        "no room for more agents: the node has more than {bytes_max} bytes of memory (`node_memory_bytes` in a \
         `[[quota]]` of the policy)"
    )]
    TooLittleMemory {
        /// Bytes that agents may fill.
        bytes_max: u64,
    },
    /// Creator that was ended in the middle of its turn.
    #[error("{0} cannot create an agent: it is ending")]
    CreatorEnded(Symbol),
    /// Family with as many agents as it may have.
    #[error(
        "no room for more agents of {owner}: at most {agents_max} may descend from it on a node (`owner_agents` in a \
         `[[quota]]` of the policy)"
    )]
    TooManyOfOwner {
        /// Root of the creator's family, or the creator.
        owner: Symbol,
        /// Number of agents that may descend from it.
        agents_max: u32,
    },
    /// Family that creates agents too fast.
    #[error(
        "agents of {owner} are created too fast: {creations_per_s} a second may be (`owner_creations_per_s` in a \
         `[[quota]]` of the policy); try again later"
    )]
    TooFast {
        /// Root of the creator's family, or the creator.
        owner: Symbol,
        /// Creations allowed in a second.
        creations_per_s: u32,
    },
    /// Program that is not available, or does not compile.
    #[error("cannot create agent {name}: {reason}")]
    BadProgram {
        /// Name of the agent.
        name: Symbol,
        /// Fault of the program.
        reason: String,
    },
    /// Durable agent in Rust whose type is not registered with the platform.
    #[error("cannot create agent {name}: the platform was not told how to make a {kind} again (PlatformBuilder::kind)")]
    UnknownKind {
        /// Name of the agent.
        name: Symbol,
        /// Name of the agent's type.
        kind: String,
    },
    /// Name that the policy does not let the creator give.
    #[error("the policy forbids to create an agent named {0}")]
    Forbidden(Symbol),
    /// Platform that stops.
    #[error("the platform is stopping")]
    Stopping,
}
