//! `whimbrel store`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Look after the directory in which a node keeps what outlives it.
///
/// The node must not run meanwhile: a store is one process's at a time.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  whimbrel store check garden/.whimbrel                 read all of it, say what is damaged
  whimbrel store repair garden/.whimbrel                make it whole of which a part beside the journal is lost
  whimbrel store compact garden/.whimbrel               give back the space of what was forgotten
  whimbrel store export garden/.whimbrel garden.export  all of it in one file
  whimbrel store import elsewhere garden.export         restore that into an empty store")]
pub struct StoreArguments {
    #[command(subcommand)]
    pub action: StoreAction,
}

/// What to do with a store.
#[derive(Debug, Subcommand)]
pub enum StoreAction {
    /// Read every byte, change nothing, and say what is in it; fails if something is damaged.
    Check {
        /// The store's directory, or one with one store in it.
        dir: PathBuf,
        /// One line of JSON instead of a table.
        #[arg(long)]
        json: bool,
    },
    /// Repair a store with missing parts; fails, and loses nothing, if its journal is damaged.
    ///
    /// Missing or damaged files `store` and `flushed` and the folder `blobs` are written again, and renamed segments
    /// get their names back.
    Repair {
        /// The store's directory, or one with one store in it.
        dir: PathBuf,
        /// Number of the store's partitions. Only needed if its file `store` is lost and its journal, of the first
        /// release, does not record it.
        #[arg(long)]
        partitions: Option<u16>,
        /// One line of JSON instead of sentences.
        #[arg(long)]
        json: bool,
    },
    /// Give back the space of frames that were forgotten.
    Compact {
        /// The store's directory, or one with one store in it.
        dir: PathBuf,
        /// One line of JSON instead of a sentence.
        #[arg(long)]
        json: bool,
    },
    /// Write all of it into one file, with checksums, which later versions read.
    Export {
        /// The store's directory, or one with one store in it.
        dir: PathBuf,
        /// The file to make.
        file: PathBuf,
        /// Of a store that is damaged, write what is left, and say what is not.
        #[arg(long)]
        salvage: bool,
        /// One line of JSON instead of a sentence.
        #[arg(long)]
        json: bool,
    },
    /// Restore what was exported into a directory without a store, or with an empty one.
    Import {
        /// The store's directory.
        dir: PathBuf,
        /// The file that was exported.
        file: PathBuf,
        /// One line of JSON instead of a sentence.
        #[arg(long)]
        json: bool,
    },
}
