//! Environments of a node: what is there for agents to act on, under the names that its operator gives.

use std::collections::BTreeMap;
use std::sync::Arc;

use whimbrel_acl::{Aid, Value};

/// Something of the node that agents act on: a collection of documents, a device, a database.
pub trait Environment: Send + Sync {
    /// Does what `request` says for `agent`, at once; others wait meanwhile. The answer is a value.
    ///
    /// # Errors
    /// Why it was not done: the agent is told.
    fn act(&self, agent: Aid, request: &Value) -> Result<Value, String>;
}

/// The environments of a node by name.
#[derive(Clone, Default)]
pub struct Environments {
    by_name: BTreeMap<String, Arc<dyn Environment>>,
}

impl Environments {
    /// Adds one; false if there is one of this name, which stays.
    pub fn add(&mut self, name: impl Into<String>, environment: Arc<dyn Environment>) -> bool {
        let name = name.into();
        let is_new = !self.by_name.contains_key(&name);
        if is_new {
            self.by_name.insert(name, environment);
        }
        is_new
    }

    /// The one of this name.
    pub fn named(&self, name: &str) -> Option<Arc<dyn Environment>> {
        self.by_name.get(name).cloned()
    }

    /// The names, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.by_name.keys().map(String::as_str)
    }
}

/// Why an agent did not get what it asked an environment for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ActError {
    /// No rule of the policy grants it.
    #[error("the policy does not grant environment {0}")]
    Denied(String),
    /// The node has none of this name.
    #[error("this node has no environment {0}")]
    Unknown(String),
    /// The environment says why.
    #[error("{0}")]
    Failed(String),
}
