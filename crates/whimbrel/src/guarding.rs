//! What guards a node: its policy, and the record of what it refused.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, bail};
use whimbrel::policy::{self, PolicyError};
use whimbrel_net::AuditLog;
use whimbrel_platform::audit::Auditor;
use whimbrel_runtime::PlatformBuilder;

use crate::arguments::Guarding;
use crate::terminal;

/// What guards a node.
pub struct Guards {
    /// Where refusals are recorded, if they are.
    pub audit: Option<Arc<AuditLog>>,
}

impl Guards {
    /// Gives a platform its policy and its record. `node` is this node's name, or number, if several use one file name.
    pub fn set(
        arguments: &Guarding,
        node: Option<&str>,
        builder: PlatformBuilder,
    ) -> anyhow::Result<(Self, PlatformBuilder)> {
        let mut builder = builder;
        if let Some(file) = &arguments.policy {
            builder = match policy::open(file) {
                Ok(policy) => builder.policy(policy),
                Err(PolicyError::Error(diagnostic)) => {
                    terminal::show(&[*diagnostic]);
                    bail!("{} has errors", file.display());
                }
                Err(error) => return Err(error.into()),
            };
        }
        let audit = arguments.audit.as_deref().map(|file| {
            let file = of_node(file, node);
            AuditLog::open(&file).with_context(|| format!("cannot write {}", file.display()))
        });
        let audit = audit.transpose()?.map(Arc::new);
        if let Some(audit) = &audit {
            builder = builder.auditor(Arc::clone(audit) as Arc<dyn Auditor>);
        }
        Ok((Self { audit }, builder))
    }

    /// Who records what links refuse.
    pub fn auditor(&self) -> Option<Arc<dyn Auditor>> {
        self.audit.clone().map(|audit| audit as Arc<dyn Auditor>)
    }
}

/// The file of one of several nodes that were given the same name: `audit.jsonl.n2`.
fn of_node(file: &Path, node: Option<&str>) -> PathBuf {
    match node {
        Some(node) => PathBuf::from(format!("{}.{node}", file.display())),
        None => file.to_owned(),
    }
}
