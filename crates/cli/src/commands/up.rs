//! `whimbrel up`: a node of a cluster.

use std::process::ExitCode;

use anyhow::bail;

use super::run::run;
use crate::arguments::{RunArguments, UpArguments};

/// Performs `whimbrel up`.
pub fn up(up: &UpArguments) -> anyhow::Result<ExitCode> {
    if !up.store.contains("://") {
        bail!(
            "{} is a folder, which only one process can use: try `whimbrel run {} --store {0}`",
            up.store,
            up.file.display()
        );
    }
    run(&RunArguments::from(up.clone()))
}
