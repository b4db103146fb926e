//! What agents ask of the platform during a turn, answered at once from this node's own state.

use std::sync::Arc;
use std::time::Duration;

use whimbrel_acl::{AclMessage, Aid, Symbol, Text, Value, sym};

use crate::advice::{AdviceCall, AdviseError, Job, JobError};
use crate::ams::NameFault;
use crate::audit::{Act, Party, Refused};
use crate::df::RegisterError;
use crate::environment::{ActError, Environment};
use crate::policy::{Action, Policy, Principal, Verdict};
use crate::storage::Shelves;

static NO_RULES: Policy = Policy::DEFAULT;

use crate::topics::TopicError;

/// The platform as an agent sees it. The scheduler implements it over the AMS and DF, the simulator likewise.
pub trait Services: Send + Sync {
    /// The platform's name.
    fn platform(&self) -> Symbol;

    /// Prints a line of an agent's output.
    fn print(&self, agent: Aid, text: &str);

    /// Prints text as it is, without the agent's name and without ending the line.
    fn print_bare(&self, agent: Aid, text: &str) {
        self.print(agent, text);
    }

    /// Notes something about an agent for whoever operates it.
    fn log(&self, agent: Aid, level: LogLevel, text: &str);

    /// Milliseconds since 1970-01-01 UTC.
    fn wall_clock_ms(&self) -> u64;

    /// The time right now, within a turn too (a turn's `now` is its start).
    fn now(&self) -> crate::Time;

    /// A random number, uniform over all 64 bits: seeds, never secrets.
    fn random(&self) -> u64;

    /// All agents of the platform but its own service agents, in order of creation.
    fn agents(&self) -> Vec<Aid>;

    /// Whether a message to `aid` has somewhere to go.
    fn exists(&self, aid: Aid) -> bool;

    /// Whether `teacher` may give `pupil` plans, or take them from it: who does has it do whatever it can do itself.
    fn may_teach(&self, _teacher: Aid, _pupil: Aid) -> bool {
        true
    }

    /// Creates an agent. It exists when this returns; its first turn comes later.
    ///
    /// # Errors
    /// The name is taken, or the source is not to be had or does not compile.
    fn create(&self, request: CreateAgent) -> Result<Aid, CreateError>;

    /// Ends an agent; false if there is none of that name. Its name is free when its current turn is over.
    fn kill(&self, agent: Aid) -> bool;

    /// Whether this agent of this node is being ended, by somebody or with the whole node, while it has a turn.
    fn is_ending(&self, agent: Aid) -> bool {
        !self.exists(agent)
    }

    /// Has an agent of this node end when it has lived for so long from now on, wherever it is then. Its owner is told by the AMS (an
    /// `inform` whose content is `ended(Name, expired)`). False if there is no such agent on this node, or this platform cannot.
    fn set_lifetime(&self, _agent: Aid, _lifetime: Duration) -> bool {
        false
    }

    /// Calls an agent home to the node that it was created on, wherever it is: a journey that it is on is over. The `asker` is told by
    /// the AMS what came of that: an `inform` whose content is `recalled(Name)`, or `not_recalled(Name, Error, Why)` if it stays
    /// where it is. False if there is no such agent, or this platform cannot.
    fn recall(&self, _asker: Aid, _agent: Aid) -> bool {
        false
    }

    /// Finds out whether `agent` had better go to that node for this job, or ask there, and sends what `tell` makes of that; or returns
    /// it, if that is known at once. If the job is none, that is told.
    fn advise(&self, _agent: Aid, _node: Symbol, job: Result<Job, JobError>, tell: AdviceCall) -> Option<AclMessage> {
        Some(tell(job.map_err(AdviseError::from).and(Err(AdviseError::OneNode))))
    }

    /// Ends the platform after `delay_ms`, with this exit code.
    fn stop(&self, delay_ms: u64, code: i32);

    /// Registers a service of `agent` with the DF; `kind` may be empty.
    ///
    /// # Errors
    /// The policy forbids it, or the DF refuses it. Who operates the node finds that in its log.
    fn df_register(&self, agent: Aid, service: &str, kind: &str) -> Result<(), OfferError>;

    /// Removes a service of `agent` from the DF. False if it offered none like that.
    fn df_deregister(&self, agent: Aid, service: &str, kind: &str) -> bool;

    /// The agents that offer a service; empty strings match any.
    fn df_search(&self, service: &str, kind: &str) -> Vec<Aid>;

    /// Has the DF tell `agent` of each provider of a service, present and to come, as an `inform` whose content is
    /// `provider(Agent, Service)`, sender `df`.
    fn df_subscribe(&self, agent: Aid, service: &str, kind: &str);

    /// Has `agent`, which is having its turn, get every message sent to a topic (`topic:NAME`), or makes it a member of a
    /// group (`group:NAME`): from now on what is sent on this node, and what is sent on others as soon as they heard of
    /// it. Nothing changes if it is so already. It ends with the agent, or by [`Services::leave`].
    ///
    /// # Errors
    /// That is no topic and no group, there are too many, or this platform has none.
    fn join(&self, _agent: Aid, _to: Aid) -> Result<(), TopicError> {
        Err(TopicError::Unsupported)
    }

    /// Ends what [`Services::join`] began; false if there is nothing to end. What is on its way to the agent still
    /// arrives.
    fn leave(&self, _agent: Aid, _from: Aid) -> bool {
        false
    }

    /// The members of a group (`group:NAME`) as far as this node knows, its own first.
    fn members(&self, _group: Aid) -> Vec<Aid> {
        Vec::new()
    }

    /// Has `watcher` told when `agent` ends, by an `inform` from the AMS whose content is `ended(Name, Reason)`: at once
    /// if there is no such agent. False if this platform cannot.
    fn monitor(&self, _watcher: Aid, _agent: Aid) -> bool {
        false
    }

    /// Has work done that blocks or takes long, off the threads that give turns; then sends the message it returns.
    ///
    /// # Errors
    /// This platform cannot: the work comes back.
    fn offload(&self, work: OffloadedWork) -> Result<(), OffloadedWork> {
        Err(work)
    }

    /// This node's directories, for the platform's own agents; `None` if there are none (a stub).
    fn directory(&self) -> Option<&dyn crate::Directory> {
        None
    }

    /// Who may do what.
    fn policy(&self) -> &Policy {
        &NO_RULES
    }

    /// What agents can act on here under this name, if the policy grants it to them.
    fn environment(&self, _name: &str) -> Option<Arc<dyn Environment>> {
        None
    }

    /// What WebAssembly agents keep on this node; `None` if they can keep nothing.
    fn storage(&self) -> Option<&Shelves> {
        None
    }

    /// What this place is called; empty where places have no names.
    fn node(&self) -> Symbol {
        sym::EMPTY
    }

    /// The nodes of the platform that are linked with this one, and it itself, in the order of their names; none for a platform of one node.
    fn nodes(&self) -> Vec<Symbol> {
        Vec::new()
    }

    /// Who `agent` is to the policy. Not to be asked while a [directory](Services::directory) is lent.
    fn principal(&self, agent: Aid) -> Principal {
        Principal::Agent { name: agent.name, node: self.node() }
    }

    /// Who pays for what `agent` asks of agents that share out something scarce, whatever else their agents are called: whoever shows a session's token
    /// or certificate, an agent's owner, another node; `None` if it is nobody but the agent.
    fn payer(&self, _agent: Aid) -> Option<Text> {
        None
    }

    /// What the platform knows of `agent` (its entry in the DF, its subscriptions there) changed in another one's turn. A
    /// platform that keeps that for the time after its process has it written.
    fn note_standing(&self, _agent: Aid) {}

    /// Does this when what the agent whose turn it is does, and what it is after that, is written down: at once, if nothing of it is.
    fn once_written(&self, then: Box<dyn FnOnce() + Send>) {
        then();
    }

    /// Counts and records that something was refused.
    fn audit(&self, _refused: &Refused<'_>) {}

    /// Records that an act was allowed.
    fn note_act(&self, _act: &Act<'_>) {}

    /// Reads program text (an `include` or a plan file) by the path a program names.
    ///
    /// # Errors
    /// Why it cannot be read.
    fn read_source(&self, path: &str) -> Result<String, String>;

    /// The files in a folder that a program names, and in the folders within it; none if the platform has no files.
    fn list_files(&self, folder: &str) -> Vec<String> {
        let _ = folder;
        Vec::new()
    }

    /// Keeps text under a name the program chose (`.save_agent`).
    ///
    /// # Errors
    /// Why it cannot be kept.
    fn write_file(&self, path: &str, text: &str) -> Result<(), String>;
}

impl dyn Services + '_ {
    /// Whether `who` may do this; if not, that is recorded.
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

    /// Has an environment of this node do something for `agent`, if the policy grants it.
    ///
    /// # Errors
    /// It is not granted, there is none of this name, or it says no.
    pub fn act(&self, agent: Aid, environment: &str, request: &Value) -> Result<Value, ActError> {
        if !self.policy().grants_environment(self.principal(agent), environment) {
            return Err(ActError::Denied(environment.to_owned()));
        }
        let Some(found) = self.environment(environment) else { return Err(ActError::Unknown(environment.to_owned())) };
        found.act(agent, request).map_err(ActError::Failed)
    }

    /// What the policy's rules say; if they forbid it, that is recorded.
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

/// Work done elsewhere, and the message that says that it is done.
pub type OffloadedWork = Box<dyn FnOnce() -> AclMessage + Send>;

/// How much a note matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// Only when asked for.
    Debug,
    /// Of interest.
    Info,
    /// Nothing is wrong; who operates the node is told.
    Notice,
    /// Something is probably wrong.
    Warning,
    /// Something failed.
    Severe,
}

/// What a new agent is to be.
#[derive(Debug)]
pub struct CreateAgent {
    /// Its local name; made unique by a number if `unique` is set and the name is taken.
    pub name: Symbol,
    /// Whether to make the name unique.
    pub unique: bool,
    /// Who creates it, for the AMS's records.
    pub owner: Option<Aid>,
    /// Its code and first state.
    pub source: AgentSource,
}

/// Where a new agent's code comes from.
pub enum AgentSource {
    /// A program file, found and compiled by the node.
    Program {
        /// The path the creator named.
        path: String,
        /// Initial beliefs and goals beyond the file's, and options, by the keys of `.mas2j`.
        options: Vec<(Symbol, Value)>,
    },
    /// A body made already.
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

/// Why a service was not registered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OfferError {
    /// The policy does not let the agent register a service of this name.
    #[error("the policy forbids to register the service {0}")]
    Forbidden(String),
    /// The DF refuses it.
    #[error(transparent)]
    Refused(#[from] RegisterError),
}

/// Why an agent was not created.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CreateError {
    /// An agent of this name exists.
    #[error("an agent named {0} exists already")]
    NameTaken(Symbol),
    /// Whether there is an agent of this name shows soon: its node is bringing back those that were there before.
    #[error("whether there is an agent named {0} is not known yet: try again")]
    NotYet(Symbol),
    /// The name is none that a new agent can have.
    #[error("{name:?} is no name for an agent: {why}")]
    BadName {
        /// The name.
        name: Symbol,
        /// Fault of the name.
        why: NameFault,
    },
    /// The node holds as many agents as it may.
    #[error("no room for more agents: the node may have {agents_max} (`node_agents` in a `[[quota]]` of the policy)")]
    TooManyAgents {
        /// Agents it may hold.
        agents_max: usize,
    },
    /// The process has more memory than agents may fill.
    #[error(
        "no room for more agents: the node has more than {bytes_max} bytes of memory (`node_memory_bytes` in a \
         `[[quota]]` of the policy)"
    )]
    TooLittleMemory {
        /// Bytes that they may fill.
        bytes_max: u64,
    },
    /// The creator was ended in the middle of its turn.
    #[error("{0} cannot create an agent: it is ending")]
    CreatorEnded(Symbol),
    /// The owner's family already has as many agents as it may.
    #[error(
        "no room for more agents of {owner}: {agents_max} at most may descend from it on a node (`owner_agents` in a \
         `[[quota]]` of the policy)"
    )]
    TooManyOfOwner {
        /// Root of the creator's family, or the creator.
        owner: Symbol,
        /// Agents that may descend from that.
        agents_max: u32,
    },
    /// The owner's family creates agents too fast.
    #[error(
        "agents of {owner} are created too fast: {creations_per_s} a second may be (`owner_creations_per_s` in a \
         `[[quota]]` of the policy); try again later"
    )]
    TooFast {
        /// Root of the creator's family, or the creator.
        owner: Symbol,
        /// Creations in a second that may be.
        creations_per_s: u32,
    },
    /// The program is not to be had, or does not compile.
    #[error("cannot create agent {name}: {reason}")]
    BadProgram {
        /// The agent.
        name: Symbol,
        /// What is wrong with it.
        reason: String,
    },
    /// It is durable and written in Rust, and the platform was not told of its type.
    #[error("cannot create agent {name}: the platform was not told how to make a {kind} again (PlatformBuilder::kind)")]
    UnknownKind {
        /// The agent.
        name: Symbol,
        /// The name of its type.
        kind: String,
    },
    /// The policy does not let the creator create an agent of this name.
    #[error("the policy forbids to create an agent named {0}")]
    Forbidden(Symbol),
    /// The platform is stopping.
    #[error("the platform is stopping")]
    Stopping,
}
