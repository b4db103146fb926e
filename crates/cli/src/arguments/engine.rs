//! `whimbrel engine`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

/// Start a local cluster of NATS servers for trying things out, or look at the engine of a platform.
///
/// A platform on several machines keeps its durable agents in NATS JetStream (`store = "nats://..."`). deploy/README.md
/// says how to run one that lasts.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  whimbrel engine up                                   three servers, until Ctrl-C
  whimbrel engine up --servers 1 --dir /tmp/engine     one, whose streams are kept there
  whimbrel engine status nats://127.0.0.1:4222         what it is, beside what it should be")]
pub struct EngineArguments {
    #[command(subcommand)]
    pub action: EngineAction,
}

/// What to do with an engine.
#[derive(Debug, Subcommand)]
pub enum EngineAction {
    /// Start servers on this machine, and end them at Ctrl-C.
    ///
    /// They listen on 127.0.0.1 and ask nobody for a password. What they keep is there again when they are started anew.
    Up {
        /// How many: with three, one may die.
        #[arg(long, default_value_t = 3, value_parser = servers)]
        servers: u8,
        /// Where their configurations, logs and streams are.
        #[arg(long, value_name = "FOLDER", default_value = ".whimbrel-engine")]
        dir: PathBuf,
        /// The first one's port; as many further ones follow for the others, and as many again for what they say to each
        /// other.
        #[arg(long, default_value_t = 4222)]
        port: u16,
        /// When the servers write to the disk.
        #[arg(long, value_enum, default_value_t = Sync::Always)]
        sync: Sync,
    },
    /// Show the version, the servers, who leads which stream, and what is not as it should be.
    Status {
        /// Where it is: nats://HOST:PORT,HOST:PORT/NAME.
        #[arg(value_name = "URL")]
        url: String,
        /// One line of JSON instead of tables.
        #[arg(long)]
        json: bool,
    },
}

/// When servers flush what they acknowledge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Sync {
    /// Before they acknowledge it: it outlives a power cut.
    Always,
    /// Every two minutes, as NATS does if nothing is said.
    Lazy,
}

fn servers(text: &str) -> Result<u8, String> {
    match text.parse() {
        Ok(count @ (1 | 3 | 5)) => Ok(count),
        _ => Err("1, 3 or 5: of an even number no more may die than of one less".to_owned()),
    }
}
