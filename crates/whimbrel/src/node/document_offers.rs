//! Folders of documents that a node offers to agents, and the folder in which agents leave things.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::agent_storage::StorageFolder;
use crate::documents::DocumentFolder;
use crate::society::DocumentOffer;
use anyhow::{Context, bail};
use whimbrel_platform::environment::NodeEnvironments;
use whimbrel_runtime::Platform;

use super::Notes;

/// Documents that a node offers, and its storage.
#[derive(Clone, Debug, Default)]
pub struct OfferOptions {
    /// Names of offers, and their folders.
    pub offers: Vec<(String, PathBuf)>,
    /// Folder of what agents leave on this node; in memory if there is none.
    pub storage: Option<PathBuf>,
}

/// Opens the offers of this node: those of the command line, and those of the project for each node or for `node`. A
/// lone node takes all offers of the project.
///
/// # Errors
/// A folder cannot be offered, or two have one name.
pub fn environments(
    options: &OfferOptions,
    offers: &[DocumentOffer],
    node: Option<&str>,
) -> anyhow::Result<NodeEnvironments> {
    let is_here = |offer: &&DocumentOffer| match (&offer.host, node) {
        (Some(host), Some(node)) => host.as_str() == node,
        _ => true,
    };
    let of_project = offers.iter().filter(is_here).map(|offer| (&offer.name, &offer.folder));
    let of_command = options.offers.iter().map(|(name, folder)| (name, folder));
    let mut environments = NodeEnvironments::default();
    for (name, folder) in of_project.chain(of_command) {
        if !environments.add(name.clone(), documents(name, folder)?) {
            bail!("two offers of this node have the name {name}: rename one (`at \"n2\"` in a project needs --nodes)");
        }
    }
    Ok(environments)
}

fn documents(name: &str, folder: &Path) -> anyhow::Result<Arc<DocumentFolder>> {
    Ok(Arc::new(DocumentFolder::open(folder).with_context(|| format!("cannot offer {name}"))?))
}

/// Opens the storage of agents on this node, and its folder, if there is one.
///
/// # Errors
/// The folder cannot be used.
pub fn storage(options: &OfferOptions, node: Option<&str>, notes: &Notes) -> anyhow::Result<Option<StorageFolder>> {
    let folder = options.storage.as_ref().map(|folder| node.map_or_else(|| folder.clone(), |node| folder.join(node)));
    Ok(folder
        .map(|folder| {
            let notes = notes.clone();
            StorageFolder::open(&folder, move |text| notes.warning(text))
        })
        .transpose()?)
}

/// Says so if something is offered that nobody is granted.
pub fn note_ungranted(environments: &NodeEnvironments, platform: &Platform, notes: &Notes) {
    for name in environments.names() {
        if !platform.services().policy().offers_environment(name) {
            notes.news(&format!(
                "{name} is offered, but no agent may act on it: grant it in a policy file (--policy) by \
                 [[grant]] who = \"*\" environments = \"{name}\""
            ));
        }
    }
}
