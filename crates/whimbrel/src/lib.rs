//! Societies of agents, embedded in a Rust program.
