//! `whimbrel engine`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

/// Start a local cluster of NATS servers for trials, or inspect the engine of a platform.
///
/// A platform on several machines stores its durable agents in NATS JetStream (`--store nats://...`). deploy/README.md
/// explains how to run a permanent cluster.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  whimbrel engine up                                   three servers, until Ctrl-C
  whimbrel engine up --detach && whimbrel engine down  three servers in the background
  whimbrel engine up --servers 1 --dir /tmp/engine     one server, with its streams in that folder
  whimbrel engine status nats://127.0.0.1:4222         state of the engine, and settings that are missing")]
pub struct EngineArguments {
    #[command(subcommand)]
    pub action: EngineAction,
}

/// Default folder of local servers.
pub const ENGINE_FOLDER: &str = ".whimbrel-engine";

/// Actions of `whimbrel engine`.
#[derive(Debug, Subcommand)]
pub enum EngineAction {
    /// Start servers on this machine, and stop them at Ctrl-C.
    ///
    /// The servers listen on 127.0.0.1 and require no password. Their data outlives a restart.
    Up {
        /// Number of servers: 1, 3 or 5. Three servers survive the loss of one.
        #[arg(long, default_value_t = 3, value_parser = servers)]
        servers: u8,
        /// Folder of the servers' configurations, logs and streams.
        #[arg(long, value_name = "FOLDER", default_value = ENGINE_FOLDER)]
        dir: PathBuf,
        /// Return when the servers are up. They run in the background until `whimbrel engine down`.
        #[arg(long)]
        detach: bool,
        /// Port of the first server. The other servers use the ports after it, and the connections between servers use
        /// as many further ports.
        #[arg(long, default_value_t = 4222)]
        port: u16,
        /// Moment at which the servers flush data to the disk.
        #[arg(long, value_enum, default_value_t = Sync::Always)]
        sync: Sync,
    },
    /// Stop the servers that `whimbrel engine up` started in a folder. Their data stays.
    Down {
        /// Folder of the servers.
        #[arg(long, value_name = "FOLDER", default_value = ENGINE_FOLDER)]
        dir: PathBuf,
    },
    /// Show the version, the servers, the leader of each stream, and problems.
    Status {
        /// Address of the engine: nats://HOST:PORT,HOST:PORT/NAME. Without it, the servers that run in the folder.
        #[arg(value_name = "URL")]
        url: Option<String>,
        /// Folder of servers that `whimbrel engine up` started.
        #[arg(long, value_name = "FOLDER", default_value = ENGINE_FOLDER, conflicts_with = "url")]
        dir: PathBuf,
        /// Print one line of JSON instead of tables.
        #[arg(long)]
        json: bool,
    },
}

/// Time at which servers flush acknowledged data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Sync {
    /// Before the acknowledgement: acknowledged data outlives a power cut.
    Always,
    /// Every two minutes, the default of NATS.
    Lazy,
}

fn servers(text: &str) -> Result<u8, String> {
    match text.parse() {
        Ok(count @ (1 | 3 | 5)) => Ok(count),
        _ => Err("expected 1, 3 or 5 servers: an even number survives no more losses than one server fewer".to_owned()),
    }
}
