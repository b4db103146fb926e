//! Guarantees of the runtime, tested from outside.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

mod basics;
mod behaviours;
mod devices;
mod dispatch;
mod durability;
mod endurance;
mod fairness;
mod hop_codes;
mod hops;
mod journeys;
mod kit;
mod links;
mod mailboxes;
mod moves;
mod names;
mod namesakes;
mod operate;
mod other_platforms;
mod partitions;
mod policy;
mod questions;
mod returned;
mod supervision;
mod topics;
mod topics_linked;
mod watching;
