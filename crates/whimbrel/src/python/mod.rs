//! Python beside a node: a project's environment (`environment: py("env.py")`) and its actions (`py.fun(X)`, functions
//! of the file `actions.py` in the project's folder). One process runs both. It is started when it is first needed, and
//! ends with the node. docs/design/python-environments.md describes the protocol.

mod calls;
mod environment;
mod host;
mod interpreter;
mod project;
mod terms;

pub use environment::PythonEnvironment;
pub use host::{PythonHost, PythonSetup};
pub use project::{CLASS, setup_of};

/// Name of the file of a project's actions.
pub const ACTIONS_FILE: &str = "actions.py";
