//! Classes that projects name. Jason's are Java, which does not run here. The default behaviour of Jason's own
//! classes is built in, so naming those is fine.

use super::Class;

/// Part of a project that names a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ClassRole {
    Environment,
    AgentClass,
    AgentArchClass,
    BeliefBaseClass,
    ExecutionControl,
    Directive,
}

/// Treatment of a class.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ClassSupport {
    /// The class's behaviour is built in.
    BuiltIn,
    /// The host provides the class.
    Provided,
    /// The class is left out, with the reason and the alternative.
    LeftOut(&'static str, &'static str),
    /// The project cannot run without the class; names the alternative.
    Missing(&'static str),
}

impl ClassRole {
    /// Returns the keyword for this place in a project.
    pub(super) fn keyword(self) -> &'static str {
        match self {
            Self::Environment => "environment",
            Self::AgentClass => "agentClass",
            Self::AgentArchClass => "agentArchClass",
            Self::BeliefBaseClass => "beliefBaseClass",
            Self::ExecutionControl => "executionControl",
            Self::Directive => "directive",
        }
    }
}

const INSPECTOR: &str = "the console shows the minds of all agents";
const PERSISTENT: &str = "beliefs are kept by the platform if the agent is made durable";

/// Decides how to treat `class`; `environments` are those that the host provides.
pub(super) fn verdict(place: ClassRole, class: &Class, environments: &[&str]) -> ClassSupport {
    let name = class.name.as_str();
    match place {
        ClassRole::Environment => environment(class, environments),
        ClassRole::AgentClass => match name {
            "jason.asSemantics.Agent" => ClassSupport::BuiltIn,
            _ => ClassSupport::Missing(
                "write it in AgentSpeak (a rule `select__option` chooses among plans), or as a Rust or WebAssembly agent",
            ),
        },
        ClassRole::AgentArchClass => match name {
            "jason.architecture.AgArch"
            | "jason.infra.local.LocalAgArch"
            | "jason.infra.centralised.CentralisedAgArch" => ClassSupport::BuiltIn,
            "jason.architecture.MindInspectorAgArch" | "jason.architecture.MindInspectorWeb" => {
                ClassSupport::LeftOut("the mind inspector is left out", INSPECTOR)
            }
            _ => ClassSupport::Missing("perceive and act through an environment: `environment: asl(\"env.asl\")`"),
        },
        ClassRole::BeliefBaseClass => match name {
            "jason.bb.DefaultBeliefBase" | "jason.bb.IndexedBB" => ClassSupport::BuiltIn,
            "jason.bb.ChainBB" | "jason.bb.TextPersistentBB" => {
                ClassSupport::LeftOut("the belief base is kept in memory", PERSISTENT)
            }
            _ => {
                ClassSupport::Missing("leave it out: the built-in belief base is indexed, and durable if the agent is")
            }
        },
        ClassRole::ExecutionControl => {
            ClassSupport::LeftOut("the execution control is left out", "the console steps, suspends and resumes agents")
        }
        ClassRole::Directive => ClassSupport::Missing("use the built-in directives, such as include, namespace or dg"),
    }
}

/// Names of environments in other languages, as in `py("env.py")`. The host knows whether it can run them.
const PROGRAMS: [&str; 2] = ["py", "wasm"];

/// Decides on an environment: one that the host does not provide is a Java class, with or without a package.
fn environment(class: &Class, environments: &[&str]) -> ClassSupport {
    let name = class.name.as_str();
    if environments.contains(&name) {
        return ClassSupport::Provided;
    }
    match name {
        "jason.environment.Environment" => ClassSupport::BuiltIn,
        program if PROGRAMS.contains(&program) => ClassSupport::Provided,
        _ => ClassSupport::Missing(
            "write the environment as an agent, `environment: asl(\"env.asl\")`, \
             or name one in Rust that the program around it offers",
        ),
    }
}
