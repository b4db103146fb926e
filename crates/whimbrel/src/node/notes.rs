//! Notes of a node to its operator.

use std::path::Path;
use std::sync::Arc;

/// Receiver of lines for a node's operator.
#[derive(Clone)]
pub struct Notes {
    tell: Arc<dyn Fn(&str) + Send + Sync>,
    complain: Arc<dyn Fn(&str) + Send + Sync>,
    is_quiet: bool,
}

impl Notes {
    /// Sends news and warnings to `tell`, and errors to `complain`. News are left out if the operator wants it quiet.
    pub fn new(
        is_quiet: bool,
        tell: impl Fn(&str) + Send + Sync + 'static,
        complain: impl Fn(&str) + Send + Sync + 'static,
    ) -> Self {
        Self { tell: Arc::new(tell), complain: Arc::new(complain), is_quiet }
    }

    /// Returns whether the operator wants no news.
    pub fn is_quiet(&self) -> bool {
        self.is_quiet
    }

    /// Tells something that an operator can do without.
    pub fn news(&self, text: &str) {
        if !self.is_quiet {
            (self.tell)(text);
        }
    }

    /// Tells something that an operator must know.
    pub fn warning(&self, text: &str) {
        (self.tell)(text);
    }

    /// Tells an error that ends the node.
    pub fn failure(&self, text: &str) {
        (self.complain)(text);
    }

    /// Warns that others can read a part of a store, if they can.
    pub fn exposed(&self, path: Option<&Path>) {
        if let Some(path) = path {
            let path = path.display();
            self.warning(&format!(
                "other users can read {path}, and this user may not change that: run `chmod -R go= {path}`"
            ));
        }
    }
}

impl std::fmt::Debug for Notes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Notes").field("is_quiet", &self.is_quiet).finish_non_exhaustive()
    }
}
