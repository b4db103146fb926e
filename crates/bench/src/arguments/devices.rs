//! What `bench devices` takes.

use std::path::PathBuf;

use clap::{Args, value_parser};

/// Devices over WebSocket, each with an agent whose state a node keeps.
#[derive(Clone, Debug, Args)]
pub struct Devices {
    /// Devices, each a WebSocket with a session and an agent.
    #[arg(long, default_value_t = 16_000, value_parser = value_parser!(u32).range(1..=200_000))]
    pub devices: u32,
    /// Operations a second, of all devices together: nine of ten write a device's state, one asks an agent of the node.
    #[arg(long, default_value_t = 6_000, value_parser = value_parser!(u32).range(1..=1_000_000))]
    pub ops: u32,
    /// How long, in seconds; with 0 the devices only connect.
    #[arg(long, default_value_t = 600, value_parser = value_parser!(u64).range(..=86_400))]
    pub seconds: u64,
    /// Bytes of a state, and of the agent's answer.
    #[arg(long, default_value_t = 256, value_parser = value_parser!(u32).range(12..=32_768))]
    pub bytes: u32,
    /// Figures of so many seconds each are told apart.
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = value_parser!(u64).range(1..=3_600))]
    pub every: u64,
    /// End the process of the gateway, or of one of them, by kill -9 after so many seconds, and start it again.
    #[arg(long, value_name = "SECONDS", value_parser = value_parser!(u64).range(1..=86_400))]
    pub kill_after: Option<u64>,
    /// Processes with a gateway, nodes of one platform, all at one port. A system has only so many open files for each. Several keep
    /// states in a server of NATS, which is started for them.
    #[arg(long, default_value_t = 1, value_parser = value_parser!(u8).range(1..=32))]
    pub gateways: u8,
    /// States are kept in memory only: what is told to be safe is not on the disk.
    #[arg(long)]
    pub volatile: bool,
    /// Where the node keeps its states while this runs; the folder for what is temporary if not given.
    #[arg(long, value_name = "FOLDER")]
    pub folder: Option<PathBuf>,
    /// One line of JSON instead of a table.
    #[arg(long)]
    pub json: bool,
    /// Draw latencies over time into this folder, as devices.svg.
    #[arg(long, value_name = "FOLDER")]
    pub plot: Option<PathBuf>,
    /// The process with devices: where the node is.
    #[arg(long, hide = true, requires = "share")]
    pub node: Option<String>,
    /// The process with devices: the first one's number, and how many.
    #[arg(long, hide = true, requires = "node", value_parser = share)]
    pub share: Option<(u32, u32)>,
}

fn share(text: &str) -> Result<(u32, u32), String> {
    let numbers = text.split_once('+').and_then(|(first, count)| Some((first.parse().ok()?, count.parse().ok()?)));
    numbers.ok_or_else(|| "expected FIRST+COUNT".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn share_parses_first_and_count() {
        assert_eq!(share("100+20"), Ok((100, 20)));
        assert!(["", "1", "+1", "1+", "1+x", "-1+1"].iter().all(|text| share(text).is_err()));
    }
}
