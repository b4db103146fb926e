//! The store in NATS, on real servers.

mod engine;
mod faults;
mod refusals;
mod suite;
