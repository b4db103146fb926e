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

/// Get a certificate for this node from the platform's authority, with a token.
///
/// The keys are made here and stay here. The folder is what `whimbrel run` and `join` take as --credentials; while they
/// run, they renew what is in it.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  whimbrel ca token authority n2                              where the authority is
  whimbrel enrol 10.0.0.1:7100 --token TOKEN --out n2         where the node is")]
pub struct EnrolArguments {
    /// Where the authority serves: what `whimbrel ca serve` listens at.
    #[arg(value_name = "ADDRESS")]
    pub address: String,
    /// What `whimbrel ca token` printed.
    #[arg(long, value_name = "TOKEN", env = "WHIMBREL_ENROL_TOKEN", hide_env_values = true)]
    pub token: String,
    /// The folder to put keys and certificates into.
    #[arg(long, value_name = "FOLDER")]
    pub out: PathBuf,
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
    /// Make a key and a certificate for a node, or for a program that has an agent.
    Issue {
        /// The authority's folder.
        folder: PathBuf,
        /// The node's name, or the agent's.
        node: String,
        /// The name is an agent's: whoever has the certificate may have that agent, at an agent port.
        #[arg(long, conflicts_with = "address")]
        session: bool,
        /// More agents that its holder may have: names, or patterns such as `'tab1-*'`. For devices, whose pages have agents
        /// of their own.
        #[arg(long, value_name = "NAME", requires = "session")]
        also: Vec<String>,
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
    /// Make a token with which a node can enrol, once: see `whimbrel enrol`.
    Token {
        /// The authority's folder.
        folder: PathBuf,
        /// The node's name.
        node: String,
        /// How long it can be used, for instance 10m, 2h.
        #[arg(long, value_name = "TIME", default_value = "1h", value_parser = whimbrel::duration::parse)]
        valid: std::time::Duration,
        /// Where the node may come from: an IP address; from anywhere if none is given.
        #[arg(long, value_name = "IP")]
        address: Vec<String>,
        /// How many days the node's certificate will be good for.
        #[arg(long, default_value_t = whimbrel_net::NODE_DAYS, value_parser = clap::value_parser!(u32).range(1..=3650))]
        days: u32,
    },
    /// Let nodes enrol and renew their certificates over the network, until Ctrl-C.
    Serve {
        /// The authority's folder.
        folder: PathBuf,
        /// Where to listen, as 127.0.0.1:7100.
        #[arg(long, value_name = "ADDRESS")]
        listen: String,
        /// Append each enrolment to this file: a line of JSON each. What strangers try is in FILE.outside.
        #[arg(long, value_name = "FILE")]
        audit: Option<PathBuf>,
    },
    /// Take a new key into use, in three steps, while nodes run: begin (nodes are to trust the new key), --switch (it
    /// signs), --finish (the old one is forgotten).
    Rotate {
        /// The authority's folder.
        folder: PathBuf,
        /// The second step, when all nodes trust the new key: from now on it signs.
        #[arg(long, conflicts_with = "finish")]
        switch: bool,
        /// The last step, when all nodes have new certificates: the old key is forgotten.
        #[arg(long)]
        finish: bool,
        /// Forget the old key although there are nodes that have certificates by it only.
        #[arg(long, requires = "finish")]
        force: bool,
    },
    /// Take certificates back, and write the list of all that were: give it to every node.
    Revoke {
        /// The authority's folder.
        folder: PathBuf,
        /// A node's name, for all of its certificates, or a serial number.
        node_or_serial: String,
    },
}
