//! Compiled program as a whole.

use std::sync::Arc;

use whimbrel_acl::{Text, Value};

use super::{CompiledPlan, CompiledRule, ImageNames, PlanIndex};
use crate::syntax::ast;

/// Compiled program: immutable, shared by all its agents.
#[derive(Clone, Debug, Default)]
pub struct Image {
    /// Name for messages: the file.
    pub name: Text,
    /// Fingerprint of the program's text and all its includes; 0 if it was not made from text.
    pub fingerprint: u64,
    /// SHA-256 of the [bundle](crate::Bundle) from which another node can make the program; `None` if it is not to
    /// travel.
    pub code: Option<[u8; 32]>,
    /// Plans in source order, library plans last.
    pub plans: Vec<Arc<CompiledPlan>>,
    /// Initial beliefs in source order.
    pub facts: Vec<Value>,
    /// Rules in source order, each with the number of facts before it.
    pub rules: Vec<(usize, Arc<CompiledRule>)>,
    /// Initial goals in source order.
    pub goals: Vec<Value>,
    /// Functions backed by rules.
    pub functions: Vec<ast::FunctionRule>,
    /// Number of generated labels: `p__labels` was the last.
    pub labels: u32,
    /// Index of the plans.
    pub index: PlanIndex,
    /// Names of the plans.
    pub names: ImageNames,
    /// True if some plan reacts to meta-events.
    pub has_meta_plans: bool,
    /// True if the program calls functions at all.
    pub calls_functions: bool,
    /// True if a context or another formula queries the agent's desires. These include the event being processed, so
    /// events are recorded in full then.
    pub asks_desires: bool,
    /// True if a formula queries the agent's intentions, including the current one.
    pub asks_intentions: bool,
    /// True if the program queries the platform.
    pub asks_others: bool,
    /// True if some plan reacts to the agent falling idle or waking.
    pub tells_idleness: bool,
    /// True if a plan of the program's own handles messages as such (`+!kqml_received`).
    pub handles_messages: bool,
    /// Syntax tree of the program, to find its parts again in another process.
    pub source: Arc<ast::Program>,
}
