//! Environments of a node: what agents that are guests can act on there, if the policy grants it.

use rustc_hash::FxHashMap;
use std::sync::Arc;
use whimbrel_acl::{Aid, Value};

/// Something of the node that guests act on: a collection of documents, a device, a database.
pub trait Environment: Send + Sync {
    /// Does what `request` says for `agent`, at once; others wait meanwhile. The answer is a value.
    ///
    /// # Errors
    /// Why it was not done: the guest can read it.
    fn act(&self, agent: Aid, request: &Value) -> Result<Value, String>;
}

/// The environments of a node by name.
#[derive(Clone, Default)]
pub struct Environments {
    by_name: FxHashMap<String, Arc<dyn Environment>>,
}

impl Environments {
    /// Adds one; another one of this name is replaced.
    pub fn add(&mut self, name: impl Into<String>, environment: impl Environment + 'static) {
        self.by_name.insert(name.into(), Arc::new(environment));
    }

    pub(crate) fn named(&self, name: &str) -> Option<&Arc<dyn Environment>> {
        self.by_name.get(name)
    }
}
