//! `whimbrel store`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Check, repair, compact, export or import the store of a durable node.
///
/// Stop the node first: only one process can open a store.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  whimbrel store check garden/.whimbrel                 read the whole store, and report damage
  whimbrel store repair garden/.whimbrel                restore missing files other than the journal
  whimbrel store compact garden/.whimbrel               release the space of deleted frames
  whimbrel store export garden/.whimbrel garden.export  write the whole store to one file
  whimbrel store import elsewhere garden.export         import it into an empty store")]
pub struct StoreArguments {
    #[command(subcommand)]
    pub action: StoreAction,
}

/// Actions of `whimbrel store`.
#[derive(Debug, Subcommand)]
pub enum StoreAction {
    /// Check the whole store without changes, and show its contents. Fails if anything is damaged.
    Check {
        /// Folder of the store, or a folder with a single store in it.
        dir: PathBuf,
        /// Print one line of JSON instead of a table.
        #[arg(long)]
        json: bool,
    },
    /// Repair a store with missing parts. If its journal is damaged, the repair fails, and loses nothing.
    ///
    /// Missing or damaged files `store` and `flushed` and the folder `blobs` are written again, and renamed segments
    /// get their names back.
    Repair {
        /// Folder of the store, or a folder with a single store in it.
        dir: PathBuf,
        /// Number of the store's partitions. Only needed if its file `store` is lost and its journal, of the first
        /// release, does not record it.
        #[arg(long)]
        partitions: Option<u16>,
        /// Print one line of JSON instead of sentences.
        #[arg(long)]
        json: bool,
    },
    /// Release the disk space of deleted frames.
    Compact {
        /// Folder of the store, or a folder with a single store in it.
        dir: PathBuf,
        /// Print one line of JSON instead of a sentence.
        #[arg(long)]
        json: bool,
    },
    /// Export the whole store to one file, with checksums. Later versions can read it.
    Export {
        /// Folder of the store, or a folder with a single store in it.
        dir: PathBuf,
        /// File to create.
        file: PathBuf,
        /// Export the readable part of a damaged store, and list the damaged part.
        #[arg(long)]
        salvage: bool,
        /// Print one line of JSON instead of a sentence.
        #[arg(long)]
        json: bool,
    },
    /// Import an exported file into a folder without a store, or with an empty one.
    Import {
        /// Folder of the store.
        dir: PathBuf,
        /// File from `whimbrel store export`.
        file: PathBuf,
        /// Print one line of JSON instead of a sentence.
        #[arg(long)]
        json: bool,
    },
}
