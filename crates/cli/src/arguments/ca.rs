//! `whimbrel ca`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Manage a platform's certification authority, which certifies the identity of nodes.
///
/// The authority is a folder. Its key is encrypted with the passphrase in the environment variable
/// WHIMBREL_CA_PASSPHRASE.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  whimbrel ca init authority --platform garden
  whimbrel ca issue authority n1 --out n1          n1/node.pem, agents.pem, authority.pem, revoked.pem
  whimbrel ca issue authority n2 --out n2 --address 10.0.0.2
  whimbrel ca issue authority bob --session --out bob       bob/session.pem, session.key, authority.pem
  whimbrel ca issue authority tab1 --session --also 'tab1-*' --out tab1       for a page that has agents of its own
  whimbrel ca token authority n3                   for: whimbrel enrol ADDRESS --token TOKEN --out n3
  whimbrel ca serve authority --listen 0.0.0.0:7100
  whimbrel ca revoke authority n2 && whimbrel ca list authority")]
pub struct CaArguments {
    #[command(subcommand)]
    pub action: CaAction,
}

/// Get a certificate for this node from the platform's authority, with a one-time token.
///
/// The private keys are made on this machine and never leave it. Give the folder to `whimbrel run` or `join` as
/// --credentials. A running node renews the certificates in it.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  whimbrel ca token authority n2                              on the authority's machine
  whimbrel enrol 10.0.0.1:7100 --token TOKEN --out n2         on the node's machine")]
pub struct EnrolArguments {
    /// Address at which `whimbrel ca serve` listens.
    #[arg(value_name = "ADDRESS")]
    pub address: String,
    /// Token that `whimbrel ca token` printed.
    #[arg(long, value_name = "TOKEN", env = "WHIMBREL_ENROL_TOKEN", hide_env_values = true)]
    pub token: String,
    /// Folder to write keys and certificates to.
    #[arg(long, value_name = "FOLDER")]
    pub out: PathBuf,
}

/// Actions of `whimbrel ca`.
#[derive(Debug, Subcommand)]
pub enum CaAction {
    /// Create an authority.
    Init {
        /// Folder to create.
        folder: PathBuf,
        /// Name of the authority's platform.
        #[arg(long, default_value = "whimbrel")]
        platform: String,
    },
    /// Issue a key and a certificate for a node, or for an external program that has agents.
    Issue {
        /// Folder of the authority.
        folder: PathBuf,
        /// Name of the node, or of the agent with --session.
        node: String,
        /// Issue the certificate for an external program instead of a node. Its holder may have the agent of this name,
        /// at the agent port and over HTTP.
        #[arg(long, conflicts_with = "address")]
        session: bool,
        /// Further agents that the holder may have: names, or patterns such as `'tab1-*'`. For devices, whose pages
        /// have agents of their own. May be given several times.
        #[arg(long, value_name = "NAME", requires = "session")]
        also: Vec<String>,
        /// Folder to write the key and the certificate to.
        #[arg(long, value_name = "FOLDER")]
        out: PathBuf,
        /// IP address from which the node may connect [default: any]. May be given several times.
        #[arg(long, value_name = "IP")]
        address: Vec<String>,
        /// Days for which the certificate is valid.
        #[arg(long, default_value_t = whimbrel_net::NODE_DAYS, value_parser = clap::value_parser!(u32).range(1..=3650))]
        days: u32,
    },
    /// List the issued certificates.
    List {
        /// Folder of the authority.
        folder: PathBuf,
        /// One line of JSON instead of a table.
        #[arg(long)]
        json: bool,
    },
    /// Create a one-time token with which a node can enrol: see `whimbrel enrol`.
    Token {
        /// Folder of the authority.
        folder: PathBuf,
        /// Name of the node.
        node: String,
        /// Time for which the token can be used, for instance 10m, 2h.
        #[arg(long, value_name = "TIME", default_value = "1h", value_parser = whimbrel::duration::parse)]
        valid: std::time::Duration,
        /// IP address from which the node may connect [default: any]. May be given several times.
        #[arg(long, value_name = "IP")]
        address: Vec<String>,
        /// Days for which the node's certificate will be valid.
        #[arg(long, default_value_t = whimbrel_net::NODE_DAYS, value_parser = clap::value_parser!(u32).range(1..=3650))]
        days: u32,
    },
    /// Let nodes enrol and renew their certificates over the network, until Ctrl-C.
    Serve {
        /// Folder of the authority.
        folder: PathBuf,
        /// Address to listen at, for example 127.0.0.1:7100.
        #[arg(long, value_name = "ADDRESS")]
        listen: String,
        /// Append each enrolment to this file, one line of JSON each. Rejected attempts of unknown clients go to
        /// FILE.outside.
        #[arg(long, value_name = "FILE")]
        audit: Option<PathBuf>,
    },
    /// Replace the authority's key in three steps, while nodes run. At first, nodes learn to trust the new key. With
    /// --switch, the new key signs. With --finish, the old key is deleted.
    Rotate {
        /// Folder of the authority.
        folder: PathBuf,
        /// Sign with the new key from now on. Second step, once all nodes trust the new key.
        #[arg(long, conflicts_with = "finish")]
        switch: bool,
        /// Delete the old key. Last step, once all nodes have new certificates.
        #[arg(long)]
        finish: bool,
        /// Delete the old key even if some nodes have certificates of the old key only.
        #[arg(long, requires = "finish")]
        force: bool,
    },
    /// Revoke certificates, and write the revocation list (revoked.pem). Nodes get it from `whimbrel ca serve` within
    /// half a minute; without that, copy it to the credentials of every node.
    Revoke {
        /// Folder of the authority.
        folder: PathBuf,
        /// Name of a node, for all its certificates, or a serial number.
        node_or_serial: String,
    },
}
