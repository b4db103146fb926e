//! Python beside a node: a project's environment (`environment: py("env.py")`) and its actions (`py.fun(X)`, functions
//! of the file `actions.py` in the project's folder). One process runs both, and ends with the node.
//! docs/design/python-environments.md describes it.

mod calls;
mod environment;
mod host;
mod interpreter;
mod project;
mod terms;

pub use environment::PythonEnvironment;
pub use host::{PythonHost, PythonSetup};
pub use project::{is_python, setup_of};
