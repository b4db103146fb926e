//! A network for each node and server: Linux network namespaces, and a switch between them. Only root can create one.

use std::net::Ipv4Addr;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, bail};

use super::schedule::Victim;

/// Bridge of the switch, with all nodes and servers that are not cut off.
const WHOLE: &str = "whole";
/// Burst that a slow link lets through at once.
const BURST_BYTES: u64 = 16_000;
/// Longest time that a slow link queues a packet.
const LATENCY_MS: u64 = 400;

/// The network; it is removed when it is dropped.
pub struct ChaosNetwork {
    prefix: String,
    hosts: Vec<Victim>,
}

impl ChaosNetwork {
    /// Makes a network of these hosts.
    ///
    /// # Errors
    /// This user may not, or a program is missing.
    pub fn new(hosts: Vec<Victim>) -> anyhow::Result<Self> {
        let network = Self { prefix: format!("whimbrel-{}", std::process::id()), hosts };
        let cannot = "partition and slow-link need networks of their own, which only root can make";
        let switch = network.switch();
        ip(&["netns", "add", &switch]).context(cannot)?;
        network.in_switch("link add whole type bridge")?;
        network.in_switch("link set whole up")?;
        for (index, host) in network.hosts.iter().enumerate() {
            let name = network.host(*host);
            ip(&["netns", "add", &name]).context(cannot)?;
            network.in_switch(&format!("link add {host} type veth peer name eth0 netns {name}"))?;
            network.in_switch(&format!("link set {host} master {WHOLE} up"))?;
            let own = |words: &str| ip_words(&["-n", &name], words);
            own(&format!("addr add {}/24 dev eth0", address(index)))?;
            own("link set eth0 up")?;
            own("link set lo up")?;
        }
        Ok(network)
    }

    /// Returns the address of a host.
    pub fn address(&self, host: Victim) -> Ipv4Addr {
        address(self.hosts.iter().position(|other| *other == host).unwrap_or_default())
    }

    /// Returns the words before a command that is to run on a host.
    pub fn enter(&self, host: Victim) -> Vec<String> {
        ["ip", "netns", "exec", &self.host(host)].map(str::to_owned).to_vec()
    }

    /// Parts these hosts from all others, but not from each other.
    ///
    /// # Errors
    /// A command fails.
    pub fn part(&self, hosts: &[Victim]) -> anyhow::Result<()> {
        let side = side(hosts);
        self.in_switch(&format!("link add {side} type bridge"))?;
        self.in_switch(&format!("link set {side} up"))?;
        hosts.iter().try_for_each(|host| self.in_switch(&format!("link set {host} master {side}")))
    }

    /// Joins them with the others again.
    ///
    /// # Errors
    /// A command fails.
    pub fn join(&self, hosts: &[Victim]) -> anyhow::Result<()> {
        hosts.iter().try_for_each(|host| self.in_switch(&format!("link set {host} master {WHOLE}")))?;
        self.in_switch(&format!("link del {}", side(hosts)))
    }

    /// Limits the rate to this many bits a second, each way; without a number, there is no limit.
    ///
    /// # Errors
    /// A command fails.
    pub fn limit(&self, host: Victim, bits_per_s: Option<u64>) -> anyhow::Result<()> {
        for (namespace, device) in [(self.host(host), "eth0".to_owned()), (self.switch(), host.to_string())] {
            let mut words = vec!["-n", &namespace, "qdisc"];
            let limits;
            match bits_per_s {
                Some(rate) => {
                    limits = format!("root tbf rate {rate}bit burst {BURST_BYTES} latency {LATENCY_MS}ms");
                    words.extend(["add", "dev", &device]);
                    words.extend(limits.split(' '));
                }
                None => words.extend(["del", "dev", &device, "root"]),
            }
            command("tc", &words)?;
        }
        Ok(())
    }

    fn switch(&self) -> String {
        format!("{}-switch", self.prefix)
    }

    fn host(&self, host: Victim) -> String {
        format!("{}-{host}", self.prefix)
    }

    fn in_switch(&self, words: &str) -> anyhow::Result<()> {
        ip_words(&["-n", &self.switch()], words)
    }
}

impl Drop for ChaosNetwork {
    fn drop(&mut self) {
        // With a namespace its devices go, and what was set there.
        let names = self.hosts.iter().map(|host| self.host(*host)).chain([self.switch()]);
        for name in names.filter(|name| Path::new("/run/netns").join(name).exists()) {
            let _ = ip(&["netns", "del", &name]);
        }
    }
}

/// Returns the bridge of hosts that are cut off together. The first one names it: no host is in two faults at a time.
fn side(hosts: &[Victim]) -> String {
    hosts.first().map(|host| format!("side-{host}")).unwrap_or_default()
}

fn address(index: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 99, 0, u8::try_from(index + 1).unwrap_or(u8::MAX))
}

fn ip_words(first: &[&str], words: &str) -> anyhow::Result<()> {
    ip(&[first, &words.split(' ').collect::<Vec<_>>()].concat())
}

fn ip(words: &[&str]) -> anyhow::Result<()> {
    command("ip", words)
}

/// Runs a command that says nothing if all is well.
///
/// # Errors
/// It is missing, or fails: what it said.
pub fn command(program: &str, words: &[&str]) -> anyhow::Result<()> {
    let run = Command::new(program).args(words).stdin(Stdio::null()).output();
    let output = run.with_context(|| format!("cannot run `{program}`"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        bail!("`{program} {}`: {said}", words.join(" "));
    }
    Ok(())
}
