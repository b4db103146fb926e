//! Arguments of `bench devices`.

use std::path::PathBuf;

use clap::{Args, value_parser};

/// Measure devices over WebSocket, each with an agent whose state a node keeps.
#[derive(Clone, Debug, Args)]
pub struct DevicesArguments {
    /// Number of devices, each a WebSocket with a session and an agent.
    #[arg(long, default_value_t = 16_000, value_parser = value_parser!(u32).range(1..=200_000))]
    pub devices: u32,
    /// Operations per second of all devices together. Nine of ten write a device's state, one asks an agent of the
    /// node.
    #[arg(long, default_value_t = 6_000, value_parser = value_parser!(u32).range(1..=1_000_000))]
    pub ops: u32,
    /// Duration in seconds; with 0 the devices only connect.
    #[arg(long, default_value_t = 600, value_parser = value_parser!(u64).range(..=86_400))]
    pub seconds: u64,
    /// Size of a state and of the agent's answer, in bytes.
    #[arg(long, default_value_t = 256, value_parser = value_parser!(u32).range(12..=32_768))]
    pub bytes: u32,
    /// Interval of the figures, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = value_parser!(u64).range(1..=3_600))]
    pub every: u64,
    /// Kill the gateway's process, or one of them, with kill -9 after this many seconds, and restart it.
    #[arg(long, value_name = "SECONDS", value_parser = value_parser!(u64).range(1..=86_400))]
    pub kill_after: Option<u64>,
    /// Number of gateway processes, nodes of one platform that share one port. Systems limit the open files of a
    /// process. Several gateways keep states in a NATS server, which is started for them.
    #[arg(long, default_value_t = 1, value_parser = value_parser!(u8).range(1..=32))]
    pub gateways: u8,
    /// Keep states in memory only: acknowledged states are not on disk.
    #[arg(long)]
    pub volatile: bool,
    /// Folder for the node's states during the run [default: the temporary folder].
    #[arg(long, value_name = "FOLDER")]
    pub folder: Option<PathBuf>,
    /// Print one line of JSON instead of a table.
    #[arg(long)]
    pub json: bool,
    /// Draw latencies over time into this folder, as devices.svg.
    #[arg(long, value_name = "FOLDER")]
    pub plot: Option<PathBuf>,
    /// Address of the node; for the process with devices.
    #[arg(long, hide = true, requires = "share")]
    pub node: Option<String>,
    /// First device and number of devices; for the process with devices.
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
