//! Networks for a server and its clients: Linux network namespaces on a bridge. The server's link is shaped in both
//! directions.

use std::process::Command;

use anyhow::{Context as _, bail};

/// Longest time that a packet waits for the shaped link.
const QUEUE_MS: u64 = 50;
/// Least size of a queue: fifty packets. With fewer, connections that share the slowest links starve until TCP gives
/// them up.
const QUEUE_BYTES_MIN: u64 = 75_000;
/// Length of the burst that an idle link may send above its rate, so that clocks need not be exact. Two packets may
/// always be sent. With a longer burst, the load of an agent would pass at once.
const BURST_US: u64 = 100;
const BURST_BYTES_MIN: u64 = 3_028;

/// Hosts of the network.
#[derive(Clone, Copy, Debug)]
pub enum RetrievalHost {
    Server,
    /// Client, counted from 1.
    Client(usize),
}

/// The network. It is gone when this is dropped.
pub struct RetrievalNetwork {
    clients: usize,
}

impl RetrievalNetwork {
    /// Makes a network of a server and this number of clients, without limits of bandwidth.
    ///
    /// # Errors
    /// This user, or this system, cannot have one.
    pub fn new(clients: usize) -> anyhow::Result<Self> {
        let network = Self { clients };
        let bridge = network.bridge();
        ip(&format!("netns add {bridge}"))
            .context("networks of their own need Linux, iproute2 and root: this part cannot be measured here")?;
        ip(&format!("-n {bridge} link add br0 type bridge"))?;
        ip(&format!("-n {bridge} link set br0 up"))?;
        network.plug_in(RetrievalHost::Server)?;
        for client in 1..=clients {
            network.plug_in(RetrievalHost::Client(client))?;
        }
        Ok(network)
    }

    fn plug_in(&self, host: RetrievalHost) -> anyhow::Result<()> {
        let (bridge, name, port, address) = (self.bridge(), self.name(host), port(host), Self::address(host));
        ip(&format!("netns add {name}"))?;
        ip(&format!("-n {bridge} link add {port} type veth peer name eth0 netns {name}"))?;
        ip(&format!("-n {bridge} link set {port} master br0 up"))?;
        ip(&format!("-n {name} addr add {address}/24 dev eth0"))?;
        ip(&format!("-n {name} link set eth0 up"))?;
        ip(&format!("-n {name} link set lo up"))
    }

    /// Returns the address of a host.
    pub fn address(host: RetrievalHost) -> String {
        match host {
            RetrievalHost::Server => "10.77.0.1".to_owned(),
            RetrievalHost::Client(number) => format!("10.77.0.{}", 10 + number),
        }
    }

    /// Has the server's link carry so much each way, and no more.
    ///
    /// # Errors
    /// The system cannot shape it.
    pub fn shape(&self, mbit: u32) -> anyhow::Result<()> {
        let bytes_per_s = u64::from(mbit) * 1_000_000 / 8;
        let queue = (bytes_per_s * QUEUE_MS / 1_000).max(QUEUE_BYTES_MIN);
        let burst = (bytes_per_s * BURST_US / 1_000_000).max(BURST_BYTES_MIN);
        for (namespace, device) in
            [(self.name(RetrievalHost::Server), "eth0".to_owned()), (self.bridge(), port(RetrievalHost::Server))]
        {
            let words = format!(
                "netns exec {namespace} tc qdisc replace dev {device} root tbf rate {mbit}mbit burst {burst} limit {queue}"
            );
            ip(&words)?;
        }
        Ok(())
    }

    /// Returns a command that runs on a host.
    pub fn command(&self, host: RetrievalHost, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.name(host)]).arg(program);
        command
    }

    /// Bytes that came to the server and left it so far: whole packets, with all their headers.
    ///
    /// # Errors
    /// The system does not tell.
    pub fn server_bytes(&self) -> anyhow::Result<(u64, u64)> {
        let counter = |name: &str| -> anyhow::Result<u64> {
            let file = format!("/sys/class/net/eth0/statistics/{name}_bytes");
            let output = self.command(RetrievalHost::Server, "cat").arg(file).output()?;
            Ok(String::from_utf8_lossy(&output.stdout).trim().parse()?)
        };
        Ok((counter("rx")?, counter("tx")?))
    }

    fn bridge(&self) -> String {
        format!("whimbrel-{}-bridge", std::process::id())
    }

    fn name(&self, host: RetrievalHost) -> String {
        format!("whimbrel-{}-{}", std::process::id(), port(host))
    }
}

impl Drop for RetrievalNetwork {
    fn drop(&mut self) {
        let clients = (1..=self.clients).map(RetrievalHost::Client);
        for name in clients.chain([RetrievalHost::Server]).map(|host| self.name(host)).chain([self.bridge()]) {
            // Some may not have come to be.
            let _ = ip(&format!("netns del {name}"));
        }
    }
}

fn port(host: RetrievalHost) -> String {
    match host {
        RetrievalHost::Server => "server".to_owned(),
        RetrievalHost::Client(number) => format!("c{number}"),
    }
}

fn ip(words: &str) -> anyhow::Result<()> {
    let output = Command::new("ip").args(words.split(' ')).output().context("cannot run `ip`")?;
    if !output.status.success() {
        bail!("`ip {words}`: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(())
}
