//! Message transport of a node to other FIPA platforms, as its user asked for it.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use whimbrel_acl::Symbol;
use whimbrel_gateway::doors::mtp::{MtpConfig, MtpDoor};
use whimbrel_interop::mtp::HomePlatform;
pub use whimbrel_interop::mtp::HttpAddress;
use whimbrel_runtime::Platform;

use super::NodePort;
use crate::node::Notes;

/// Longest time for messages that wait when the node ends.
const CLOSE_PATIENCE: Duration = Duration::from_secs(2);

/// Message transport that the user asked for.
#[derive(Clone, Debug, Default)]
pub struct MtpOptions {
    /// Address of the listener; there is no transport without one.
    pub listen: Option<String>,
    /// Address at which other platforms reach the listener, if it is another one.
    pub address: Option<HttpAddress>,
    /// Addresses of other platforms, with the names of some.
    pub peers: Vec<MtpPeer>,
}

/// Address of another platform that the user permits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MtpPeer {
    /// Name of the platform, if its agents are to be found by name.
    pub platform: Option<String>,
    /// Address.
    pub address: HttpAddress,
}

impl std::str::FromStr for MtpPeer {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // An address may contain `=http`, too.
        let named = text.split_once("=http").filter(|_| !text.starts_with("http://"));
        let (platform, address) = match named {
            Some((platform, rest)) => (Some(platform.to_owned()), format!("http{rest}")),
            None => (None, text.to_owned()),
        };
        if platform.as_deref() == Some("") {
            return Err("expected PLATFORM=URL: the name before = is empty".to_owned());
        }
        let address = address.parse::<HttpAddress>().map_err(|error| error.to_string())?;
        Ok(Self { platform, address })
    }
}

/// Opens the message transport, if the user asked for one, and connects the platform to it.
///
/// # Errors
/// The address is not to be had, or other platforms could not reach it.
pub fn open(options: &MtpOptions, platform: &Platform, notes: &Notes) -> anyhow::Result<Option<MtpDoor>> {
    let Some(listen) = &options.listen else { return Ok(None) };
    let listener = TcpListener::bind(listen)
        .with_context(|| format!("cannot listen at {listen} for other platforms: choose another address with --mtp"))?;
    let address = address_of(options, listener.local_addr()?)?;
    let home = HomePlatform::new(platform.services().platform(), address.to_string());
    let peers = options.peers.iter().map(|peer| (peer.platform.as_deref().map(Symbol::new), peer.address.clone()));
    let config = MtpConfig { home: home.clone(), node: Arc::new(NodePort(platform.clone())), peers: peers.collect() };
    let door = MtpDoor::open(config, listener)?;
    notes.news(&format!("agents of other platforms reach NAME@{} at {}", home.name, home.address));
    Ok(Some(door))
}

/// Returns the address that other platforms are told.
fn address_of(options: &MtpOptions, listener: SocketAddr) -> anyhow::Result<HttpAddress> {
    if let Some(address) = &options.address {
        return Ok(address.clone());
    }
    if listener.ip().is_unspecified() {
        bail!("other platforms cannot be told the address {listener}: give the one they know with --mtp-address URL");
    }
    Ok(HttpAddress { host: listener.ip().to_string(), port: listener.port(), path: "/acc".to_owned() })
}

/// Closes the message transport: messages that wait may still leave.
pub fn close(door: Option<MtpDoor>) {
    if let Some(door) = door {
        door.close(CLOSE_PATIENCE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers_are_read() {
        let named: MtpPeer = "10.0.0.1:1099/JADE=http://10.0.0.1:7778/acc".parse().expect("a peer");
        assert_eq!(named.platform.as_deref(), Some("10.0.0.1:1099/JADE"));
        let bare: MtpPeer = "http://h:1/acc?a=http".parse().expect("a peer");
        assert_eq!((bare.platform, bare.address.to_string()), (None, "http://h:1/acc?a=http".to_owned()));
        assert!("jade".parse::<MtpPeer>().is_err() && "=http://h:1/".parse::<MtpPeer>().is_err());
    }

    #[test]
    fn unreachable_address_is_refused() {
        let told = address_of(&MtpOptions::default(), "0.0.0.0:7778".parse().expect("an address"));
        assert!(told.is_err_and(|error| error.to_string().contains("--mtp-address")));
        let told = address_of(&MtpOptions::default(), "127.0.0.1:7778".parse().expect("an address"));
        assert_eq!(told.map(|address| address.to_string()).ok().as_deref(), Some("http://127.0.0.1:7778/acc"));
    }
}
