//! Guard of a node: its policy and its auditor.

use std::sync::OnceLock;

use whimbrel_acl::Symbol;
use whimbrel_platform::audit::Auditor;
use whimbrel_platform::policy::{Action, Policy};

use crate::sync::Arc;

/// Policy of a node, with the auditor that records refusals.
pub(crate) struct Guard {
    pub policy: Policy,
    pub auditor: Option<Arc<dyn Auditor>>,
    /// True if a rule may forbid agents of this platform to send to some: otherwise no message is checked.
    pub restricts_sending: bool,
    /// True if a rule may forbid agents and programs of other nodes to send to some.
    pub restricts_arriving: bool,
    pub restricts_creating: bool,
    pub me: OnceLock<Symbol>,
}

impl Guard {
    pub fn new(policy: Policy, auditor: Option<Arc<dyn Auditor>>) -> Self {
        let restricts_sending = policy.restricts_agents(Action::Send) || policy.restricts_agents(Action::Publish);
        let restricts_arriving = policy.restricts_nodes(Action::Send) || policy.restricts_nodes(Action::Publish);
        let restricts_creating = policy.restricts_agents(Action::Create);
        Self { policy, auditor, restricts_sending, restricts_arriving, restricts_creating, me: OnceLock::new() }
    }
}
