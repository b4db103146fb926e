//! Classes that projects name. Jason's are Java, which does not run here. The default behaviour of Jason's own
//! classes is built in, so naming those is fine.

use super::Class;

/// Part of a project that names a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Environment,
    AgentClass,
    AgentArchClass,
    BeliefBaseClass,
    ExecutionControl,
    Directive,
}

/// Treatment of a class.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The class's behaviour is built in.
    BuiltIn,
    /// The host provides the class.
    Provided,
    /// The class is left out, with the reason and the alternative.
    LeftOut(&'static str, &'static str),
    /// The project cannot run without the class; names the alternative.
    Missing(&'static str),
}

impl Place {
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
pub(super) fn verdict(place: Place, class: &Class, environments: &[&str]) -> Verdict {
    let name = class.name.as_str();
    match place {
        Place::Environment => environment(class, environments),
        Place::AgentClass => match name {
            "jason.asSemantics.Agent" => Verdict::BuiltIn,
            _ => Verdict::Missing(
                "write it in AgentSpeak (a rule `select__option` chooses among plans), or as a Rust or WebAssembly agent",
            ),
        },
        Place::AgentArchClass => match name {
            "jason.architecture.AgArch"
            | "jason.infra.local.LocalAgArch"
            | "jason.infra.centralised.CentralisedAgArch" => Verdict::BuiltIn,
            "jason.architecture.MindInspectorAgArch" | "jason.architecture.MindInspectorWeb" => {
                Verdict::LeftOut("the mind inspector is left out", INSPECTOR)
            }
            _ => Verdict::Missing("perceive and act through an environment: `environment: asl(\"env.asl\")`"),
        },
        Place::BeliefBaseClass => match name {
            "jason.bb.DefaultBeliefBase" | "jason.bb.IndexedBB" => Verdict::BuiltIn,
            "jason.bb.ChainBB" | "jason.bb.TextPersistentBB" => {
                Verdict::LeftOut("the belief base is kept in memory", PERSISTENT)
            }
            _ => Verdict::Missing("leave it out: the built-in belief base is indexed, and durable if the agent is"),
        },
        Place::ExecutionControl => {
            Verdict::LeftOut("the execution control is left out", "the console steps, suspends and resumes agents")
        }
        Place::Directive => Verdict::Missing("use the built-in directives, such as include, namespace or dg"),
    }
}

/// Names of environments in other languages, as in `py("env.py")`. The host knows whether it can run them.
const PROGRAMS: [&str; 2] = ["py", "wasm"];

/// Decides on an environment: one that the host does not provide is a Java class, with or without a package.
fn environment(class: &Class, environments: &[&str]) -> Verdict {
    let name = class.name.as_str();
    if environments.contains(&name) {
        return Verdict::Provided;
    }
    match name {
        "jason.environment.Environment" => Verdict::BuiltIn,
        program if PROGRAMS.contains(&program) => Verdict::Provided,
        _ => Verdict::Missing(
            "write the environment as an agent, `environment: asl(\"env.asl\")`, \
             or name one in Rust that the program around it offers",
        ),
    }
}
