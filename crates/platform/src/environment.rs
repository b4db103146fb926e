//! Environments of a node: things for agents to act on, under names that its operator gives.

use std::collections::BTreeMap;
use std::sync::Arc;

use whimbrel_acl::{Aid, Value};

/// Environment of a node that agents act on: a collection of documents, a device, a database.
pub trait NodeEnvironment: Send + Sync {
    /// Carries out `request` for `agent` at once; others wait meanwhile. Returns a value.
    ///
    /// # Errors
    /// The reason why it was not done, for the agent.
    fn act(&self, agent: Aid, request: &Value) -> Result<Value, String>;
}

/// Environments of a node, by name.
#[derive(Clone, Default)]
pub struct NodeEnvironments {
    by_name: BTreeMap<String, Arc<dyn NodeEnvironment>>,
}

impl NodeEnvironments {
    /// Adds an environment. Returns false if there is one of this name, which stays.
    pub fn add(&mut self, name: impl Into<String>, environment: Arc<dyn NodeEnvironment>) -> bool {
        let name = name.into();
        let is_new = !self.by_name.contains_key(&name);
        if is_new {
            self.by_name.insert(name, environment);
        }
        is_new
    }

    /// Returns the environment of this name.
    pub fn named(&self, name: &str) -> Option<Arc<dyn NodeEnvironment>> {
        self.by_name.get(name).cloned()
    }

    /// Returns the names, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.by_name.keys().map(String::as_str)
    }
}

/// Reason why an agent's request to an environment failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ActError {
    /// Environment that no rule of the policy grants.
    #[error("the policy does not grant environment {0}")]
    Denied(String),
    /// Unknown environment.
    #[error("this node has no environment {0}")]
    Unknown(String),
    /// Reason that the environment gives.
    #[error("{0}")]
    Failed(String),
}
