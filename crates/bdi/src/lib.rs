//! AgentSpeak(L) in Jason's dialect: syntax, compiler, belief base, plan library, reasoning cycle, internal actions.
//! Pure: time, output, randomness and other agents are reached through the platform's ports only.
#![forbid(unsafe_code)]

pub mod actions;
mod agent;
mod bundle;
pub mod code;
mod inspect;
mod load;
pub mod logic;
pub mod mind;
mod numbering;
pub mod project;
pub mod prover;
pub mod reason;
mod shared_library;
mod snapshot;
pub mod syntax;

pub use agent::{Agent, AgentConfig};
pub use bundle::{Bundle, BundleError, Included};
pub use inspect::{PlanLines, check_breakpoint, plan_lines};
pub use load::{Loaded, ProgramError, compile_program, library, load, load_bundled};
pub use shared_library::{
    contains as is_library_path, load as load_library, name_of as library_name_of, names as library_names,
    path_of as library_path_of, texts as library_texts,
};
pub use snapshot::SnapshotError;
