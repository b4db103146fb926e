//! Durable agents of a node: their restoration from the journal, their registrations, and the effects of their steps.

mod registration;
mod resume;
mod steps;
