//! Projects (`.mas2j`): the agents of a society, and how they run.

mod agents;
mod classes;
mod hints;
mod lexer;
pub mod options;
mod parser;

use rustc_hash::FxHashMap;
use whimbrel_acl::{Symbol, Text};

use crate::syntax::ast::{Goal, Rule, Span};
use crate::syntax::{Diagnostic, Severity};
pub use lexer::{ProjectToken, ProjectTokenKind, project_tokens};
pub use parser::parse_project;

/// Society of agents.
#[derive(Clone, Debug, Default)]
pub struct Project {
    /// Name.
    pub name: Text,
    /// Requested scheduling, in Jason's terms.
    pub infrastructure: Infrastructure,
    /// Environment, if one is declared.
    pub environment: Option<ProjectEnvironment>,
    /// Environments that nodes offer to agents, in order.
    pub offers: Vec<ProjectOffer>,
    /// Execution control, if declared; accepted and not used.
    pub execution_control: Option<Class>,
    /// Agents, in order.
    pub agents: Vec<AgentEntry>,
    /// Directives implemented by classes: none can be supported, so each was reported.
    pub directives: Vec<(Symbol, Class)>,
    /// Java archives; accepted and not used.
    pub classpath: Vec<Text>,
    /// Folders to search for programs, in order.
    pub asl_source_path: Vec<Text>,
}

/// Result of parsing a project.
#[derive(Debug, Default)]
pub struct ParsedProject {
    /// Project, without the parts that have errors.
    pub project: Project,
    /// Errors and warnings, in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
}

impl ParsedProject {
    /// Returns true if the project can run.
    pub fn is_ok(&self) -> bool {
        self.diagnostics.iter().all(|diagnostic| diagnostic.severity != Severity::Error)
    }

    /// Returns true if the project can run without the agents whose declarations have errors.
    pub fn is_ok_in_part(&self) -> bool {
        let of_agent = |span: Span| {
            let around = |agent: &&AgentEntry| agent.span.start <= span.start && span.end <= agent.span.end;
            self.project.agents.iter().find(around).is_some_and(|agent| agent.is_broken)
        };
        let is_excused = |found: &Diagnostic| found.severity != Severity::Error || of_agent(found.span);
        self.diagnostics.iter().all(is_excused)
    }
}

/// Scheduling of agents in Jason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scheduling {
    /// A thread per agent.
    #[default]
    Threaded,
    /// A pool of threads for all agents.
    Pool,
    /// A pool, all agents one cycle at a time.
    SynchScheduled,
    /// A pool for each of sense, deliberate and act.
    Asynch,
    /// One pool for sense, deliberate and act apart.
    AsynchShared,
}

/// Infrastructure of a project: `Local(pool, 4)`.
#[derive(Clone, Debug, Default)]
pub struct Infrastructure {
    /// Kind of scheduling.
    pub scheduling: Scheduling,
    /// Threads of the pool; the first number if there is one for each of three pools.
    pub workers: Option<u32>,
    /// Reasoning cycles per turn of an agent.
    pub cycles: Option<u32>,
    /// Infrastructure as written, if it is.
    pub class: Option<Class>,
}

/// Environment that agents perceive and act on.
#[derive(Clone, Debug)]
pub enum ProjectEnvironment {
    /// `asl("env.asl")`: an agent program that answers perceptions and actions.
    Program {
        /// File of the program.
        file: Text,
        /// Class as written.
        class: Class,
    },
    /// An environment that the host provides by name, such as `mars(5)`, `py("env.py")` or `wasm("env.wasm")`.
    Host(Class),
}

/// Offer of a node: `library = "documents" at "n2"`.
#[derive(Clone, Debug, PartialEq)]
pub struct ProjectOffer {
    /// Name by which agents act on the offer.
    pub name: Text,
    /// Folder of the offered documents.
    pub folder: Text,
    /// Node that offers it; `None` for every node.
    pub host: Option<Text>,
    /// Place in the source.
    pub span: Span,
}

/// Class with parameters, `name(a, 3, "text", [b])`, on a host.
#[derive(Clone, Debug, PartialEq)]
pub struct Class {
    /// Name, dots included.
    pub name: Text,
    /// Parameters.
    pub args: Vec<ClassArg>,
    /// `at "host"`
    pub host: Option<Text>,
    /// Place in the source.
    pub span: Span,
}

/// Parameter of a class.
#[derive(Clone, Debug, PartialEq)]
pub enum ClassArg {
    /// A name, or a class with its own parameters.
    Class(Class),
    /// A number.
    Num(f64),
    /// A text.
    Str(Text),
    /// A list.
    List(Vec<ClassArg>),
}

impl ClassArg {
    /// Returns the text or bare name that this is.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Str(text) => Some(text),
            Self::Class(class) if class.args.is_empty() => Some(&class.name),
            _ => None,
        }
    }
}

/// Agents that one line of a project declares.
#[derive(Clone, Debug)]
pub struct AgentEntry {
    /// Name; several instances have this name and a number from 1.
    pub name: Symbol,
    /// File of the program, as written; by default the name with `.asl`.
    pub source: Text,
    /// Options in brackets, in order.
    pub options: Vec<AgentOption>,
    /// Number of instances.
    pub count: u32,
    /// True if an option or a class of the entry has an error: this agent cannot run, others can.
    pub is_broken: bool,
    /// `agentClass`, if declared and not the default one.
    pub agent_class: Option<Class>,
    /// `agentArchClass`, if declared and not the default one.
    pub arch_classes: Vec<Class>,
    /// `beliefBaseClass`, if declared and not the default one.
    pub belief_base_class: Option<Class>,
    /// `at "host"`
    pub host: Option<Text>,
    /// Option `beliefs`, in order.
    pub beliefs: Vec<Rule>,
    /// Option `goals`, in order.
    pub goals: Vec<Goal>,
    /// Place of the declaration.
    pub span: Span,
}

impl AgentEntry {
    /// Returns the text of an option; strings without their quotes.
    pub fn option(&self, key: &str) -> Option<&str> {
        self.options.iter().rev().find(|option| option.key.as_str() == key).map(|option| option.value.as_str())
    }
}

/// Names of a society's agents, each given once. As in Jason, a name that is taken gets `_1` behind it, or `_2`...
#[derive(Debug, Default)]
pub struct AgentNames {
    /// Names in use, each with the number to try next behind it.
    taken: FxHashMap<Symbol, u32>,
}

impl AgentNames {
    /// Reserves the names of the agents that one line declares: `count` of them, numbered from 1 unless that is 1.
    /// Returns the first `most` of them, and reserves no others.
    pub fn reserve(&mut self, name: Symbol, count: usize, most: usize) -> Vec<Symbol> {
        let numbered = |number: usize| Symbol::new(&format!("{name}{number}"));
        (1..=count.min(most)).map(|number| self.free(if count == 1 { name } else { numbered(number) })).collect()
    }

    fn free(&mut self, name: Symbol) -> Symbol {
        let mut next = self.taken.get(&name).copied().unwrap_or_default();
        let mut free = name;
        while next > 0 && self.taken.contains_key(&free) {
            free = Symbol::new(&format!("{name}_{next}"));
            next += 1;
        }
        self.taken.insert(name, next.max(1));
        self.taken.entry(free).or_insert(1);
        free
    }
}

/// Option of an agent: `key=value`.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentOption {
    /// Name.
    pub key: Text,
    /// Value; a string without its quotes.
    pub value: Text,
    /// Place in the source.
    pub span: Span,
}
