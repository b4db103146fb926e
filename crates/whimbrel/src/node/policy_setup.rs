//! Policy of a node, and its records: of what it refused and allowed, and of signed messages.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use whimbrel_net::authority::file::AUTHORITY;
use whimbrel_net::signing::Evidence;
use whimbrel_net::{AuditLog, HubConfig, LinkSecurity};
use whimbrel_platform::audit::{Act, Auditor, Party};
use whimbrel_runtime::PlatformBuilder;

use super::{Notes, credentials};
use crate::policy;
use crate::refusals::Refusals;

/// Longest wait for the disk at the end.
const SETTLE_PATIENCE: Duration = Duration::from_secs(5);

/// Files of a node's policy and records.
#[derive(Clone, Debug, Default)]
pub struct PolicyOptions {
    /// Policy file: who may do what.
    pub policy: Option<PathBuf>,
    /// Audit log: what was refused and allowed.
    pub audit: Option<PathBuf>,
    /// Folder of evidence: signed messages. Links must be signed.
    pub evidence: Option<PathBuf>,
}

/// Policy and records of a running node.
pub struct Guards {
    /// Audit log, if there is one.
    pub audit: Option<Arc<AuditLog>>,
    /// Evidence, if it is kept.
    pub evidence: Option<Arc<Evidence>>,
    /// Latest refusals.
    pub refusals: Arc<Refusals>,
    folder: Option<PathBuf>,
    notes: Notes,
}

impl Guards {
    /// Gives a platform its policy and its records. `node` is this node's name, if several use one file name.
    ///
    /// # Errors
    /// The policy has errors ([`PolicyError`](policy::PolicyError)), or a file cannot be written.
    pub fn set(
        options: &PolicyOptions,
        node: Option<&str>,
        builder: PlatformBuilder,
        notes: &Notes,
    ) -> anyhow::Result<(Self, PlatformBuilder)> {
        let mut builder = builder;
        if let Some(file) = &options.policy {
            builder = builder.policy(policy::open(file)?);
        }
        let file = options.audit.as_deref().map(|file| of_node(file, node));
        let open = |file: &PathBuf| AuditLog::open(file).with_context(|| format!("cannot write {}", file.display()));
        let audit = file.as_ref().map(open).transpose()?.map(Arc::new);
        let record = audit.clone().map(|audit| audit as Arc<dyn Auditor>);
        let refusals = Arc::new(Refusals::new(record).in_file(file));
        builder = builder.auditor(Arc::clone(&refusals) as Arc<dyn Auditor>);
        if let Some(file) = &options.policy {
            // A policy changes with a new start only: the record says with which one that was.
            let object = format!("{} sha256:{}", file.display(), policy::digest(file)?);
            let from = "command line";
            refusals.allowed(&Act {
                who: Party::Operator("operator"),
                from,
                action: "policy",
                object: &object,
                detail: "",
            });
        }
        let folder = options.evidence.as_deref().map(|folder| of_node(folder, node));
        let evidence = folder.as_deref().map(|folder| Evidence::open(folder, told(notes)));
        Ok((
            Self { audit, evidence: evidence.transpose()?.map(Arc::new), refusals, folder, notes: notes.clone() },
            builder,
        ))
    }

    /// Gives a node's links what guards them.
    ///
    /// # Errors
    /// There is to be evidence of what is not signed; or it cannot be written.
    pub fn guard(&self, config: &mut HubConfig) -> anyhow::Result<()> {
        config.auditor = self.auditor();
        let Some(folder) = &self.folder else { return Ok(()) };
        if config.level != LinkSecurity::Signed {
            bail!("--evidence needs signed messages: give --security signed");
        }
        config.evidence.clone_from(&self.evidence);
        // Verifiers have the authority's certificate from elsewhere, except for authorities that live as long as a run.
        let authority = config.credentials.as_ref().map_or("", |credentials| credentials.authority_pem.as_str());
        // What earlier runs signed is in the same folder, and must be believed as long.
        let file = folder.join(AUTHORITY);
        let known = std::fs::read_to_string(&file).unwrap_or_default();
        if known.contains(authority) { Ok(()) } else { credentials::write_text(&file, &format!("{known}{authority}")) }
    }

    /// Returns whether refusals or signed messages are recorded in files.
    pub fn record(&self) -> bool {
        self.evidence.is_some() || self.audit.is_some()
    }

    /// Waits until what was recorded is written. To be called when the links are closed.
    pub fn end(&self) {
        if let Some(evidence) = &self.evidence {
            evidence.settle(SETTLE_PATIENCE);
            if evidence.lost() > 0 {
                self.notes.warning(&format!("{} signed messages could not be added to the evidence", evidence.lost()));
            }
        }
        if let Some(audit) = &self.audit {
            audit.settle(SETTLE_PATIENCE);
        }
    }

    /// Returns the auditor of refusals on links.
    pub fn auditor(&self) -> Option<Arc<dyn Auditor>> {
        Some(Arc::clone(&self.refusals) as Arc<dyn Auditor>)
    }
}

/// Returns what takes lines from the evidence.
fn told(notes: &Notes) -> Box<dyn Fn(&str) + Send + Sync> {
    let notes = notes.clone();
    Box::new(move |text| notes.warning(text))
}

/// Returns the file of one of several nodes that were given the same name: `audit.jsonl.n2`.
fn of_node(file: &Path, node: Option<&str>) -> PathBuf {
    match node {
        Some(node) => PathBuf::from(format!("{}.{node}", file.display())),
        None => file.to_owned(),
    }
}
