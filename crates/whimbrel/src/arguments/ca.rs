//! `whimbrel ca`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Look after a platform's certification authority, which says which process is which node.
///
/// The authority is a folder. Its key is encrypted with a passphrase, which is read from the variable
/// WHIMBREL_CA_PASSPHRASE.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  whimbrel ca init authority --platform garden
  whimbrel ca issue authority n1 --out n1          n1/node.pem, node.key, authority.pem, revoked.pem
  whimbrel ca issue authority n2 --out n2 --address 10.0.0.2
  whimbrel ca revoke authority n2 && whimbrel ca list authority")]
pub struct Ca {
    #[command(subcommand)]
    pub action: CaAction,
}

/// What to do with an authority.
#[derive(Debug, Subcommand)]
pub enum CaAction {
    /// Make a new one.
    Init {
        /// The folder to make.
        folder: PathBuf,
        /// The platform it is for.
        #[arg(long, default_value = "whimbrel")]
        platform: String,
    },
    /// Make a key and a certificate for a node.
    Issue {
        /// The authority's folder.
        folder: PathBuf,
        /// The node's name.
        node: String,
        /// The folder to put them into.
        #[arg(long, value_name = "FOLDER")]
        out: PathBuf,
        /// Where the node may come from: an IP address; from anywhere if none is given.
        #[arg(long, value_name = "IP")]
        address: Vec<String>,
        /// How many days it is good for.
        #[arg(long, default_value_t = whimbrel_net::NODE_DAYS, value_parser = clap::value_parser!(u32).range(1..=3650))]
        days: u32,
    },
    /// Show what was issued.
    List {
        /// The authority's folder.
        folder: PathBuf,
        /// One line of JSON instead of a table.
        #[arg(long)]
        json: bool,
    },
    /// Take certificates back, and write the list of all that were: give it to every node.
    Revoke {
        /// The authority's folder.
        folder: PathBuf,
        /// A node's name, for all of its certificates, or a serial number.
        node_or_serial: String,
    },
}
