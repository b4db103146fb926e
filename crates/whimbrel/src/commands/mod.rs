//! One module per command. Each returns the process's exit code, or an error to show.

pub mod bench;
pub mod new;
pub mod run;
