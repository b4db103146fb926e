//! Projects (`.mas2j`): which agents a society has, and how they run.

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
pub use parser::parse_project;

/// A society of agents.
#[derive(Clone, Debug, Default)]
pub struct Project {
    /// Its name.
    pub name: Text,
    /// How its agents are scheduled, as Jason would; a wish.
    pub infrastructure: Infrastructure,
    /// The environment, if one is declared.
    pub environment: Option<Environment>,
    /// What its nodes offer agents to act on, in order.
    pub offers: Vec<Offer>,
    /// What steps the agents, if something is declared; accepted and not used.
    pub execution_control: Option<Class>,
    /// The agents, in order.
    pub agents: Vec<AgentEntry>,
    /// Directives implemented elsewhere: none can be, so each was reported.
    pub directives: Vec<(Symbol, Class)>,
    /// Java archives; accepted and not used.
    pub classpath: Vec<Text>,
    /// Folders to look for programs in, in order.
    pub asl_source_path: Vec<Text>,
}

/// What came of parsing a project.
#[derive(Debug, Default)]
pub struct ParsedProject {
    /// The project, without what has errors.
    pub project: Project,
    /// Errors and warnings, in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
}

impl ParsedProject {
    /// Whether the project can run.
    pub fn is_ok(&self) -> bool {
        self.diagnostics.iter().all(|diagnostic| diagnostic.severity != Severity::Error)
    }

    /// True if the project can run without the agents whose declarations have errors.
    pub fn is_ok_in_part(&self) -> bool {
        let of_agent = |span: Span| {
            let around = |agent: &&AgentEntry| agent.span.start <= span.start && span.end <= agent.span.end;
            self.project.agents.iter().find(around).is_some_and(|agent| agent.is_broken)
        };
        let is_excused = |found: &Diagnostic| found.severity != Severity::Error || of_agent(found.span);
        self.diagnostics.iter().all(is_excused)
    }
}

/// How Jason would schedule the agents.
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

/// Where and how agents run: `Local(pool, 4)`.
#[derive(Clone, Debug, Default)]
pub struct Infrastructure {
    /// The kind of scheduling.
    pub scheduling: Scheduling,
    /// Threads of the pool; the first number if there is one for each of three pools.
    pub workers: Option<u32>,
    /// Reasoning cycles per turn of an agent.
    pub cycles: Option<u32>,
    /// As written, if it is.
    pub class: Option<Class>,
}

/// What agents perceive and act on.
#[derive(Clone, Debug)]
pub enum Environment {
    /// `asl("env.asl")`: an agent program that answers perceptions and actions.
    Program {
        /// The program's file.
        file: Text,
        /// What is written.
        class: Class,
    },
    /// An environment that the host provides by name, such as `mars(5)`, `py("env.py")` or `wasm("env.wasm")`.
    Host(Class),
}

/// What a node offers: `library = "documents" at "n2"`.
#[derive(Clone, Debug, PartialEq)]
pub struct Offer {
    /// The name by which agents act on it.
    pub name: Text,
    /// The folder whose documents it is.
    pub folder: Text,
    /// The node that offers it, if it is not each of them.
    pub host: Option<Text>,
    /// Where it stands.
    pub span: Span,
}

/// A class with parameters, `name(a, 3, "text", [b])`, on a host.
#[derive(Clone, Debug, PartialEq)]
pub struct Class {
    /// Its name, dots included.
    pub name: Text,
    /// Its parameters.
    pub args: Vec<ClassArg>,
    /// `at "host"`
    pub host: Option<Text>,
    /// Where it stands.
    pub span: Span,
}

/// A parameter of a class.
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
    /// The text or bare name that this is.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Str(text) => Some(text),
            Self::Class(class) if class.args.is_empty() => Some(&class.name),
            _ => None,
        }
    }
}

/// The agents that one line of a project declares.
#[derive(Clone, Debug)]
pub struct AgentEntry {
    /// The name; with several instances the name of each is this one and a number from 1.
    pub name: Symbol,
    /// The file of the program, as written; by default the name with `.asl`.
    pub source: Text,
    /// The options in brackets, in order.
    pub options: Vec<AgentOption>,
    /// How many instances.
    pub count: u32,
    /// True if an option or a class of the entry has an error: this agent cannot run, others can.
    pub is_broken: bool,
    /// `agentClass`, if it is declared and not the default one.
    pub agent_class: Option<Class>,
    /// `agentArchClass`, if declared and not the default one.
    pub arch_classes: Vec<Class>,
    /// `beliefBaseClass`, if it is declared and not the default one.
    pub belief_base_class: Option<Class>,
    /// `at "host"`
    pub host: Option<Text>,
    /// The option `beliefs`, in order.
    pub beliefs: Vec<Rule>,
    /// The option `goals`, in order.
    pub goals: Vec<Goal>,
    /// Where the declaration stands.
    pub span: Span,
}

impl AgentEntry {
    /// The text of an option; strings without their quotes.
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
    /// Reserves the names of the agents that one line declares: `count` of them, numbered from 1 if that is not one
    /// agent. Returns the first `most` of them, and reserves no others.
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

/// An option of an agent: `key=value`.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentOption {
    /// Its name.
    pub key: Text,
    /// Its value; a string without its quotes.
    pub value: Text,
    /// Where it stands.
    pub span: Span,
}
