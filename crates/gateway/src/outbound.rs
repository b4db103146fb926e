//! Guarded connections to other machines, for everything that goes out on behalf of agents and strangers.
//!
//! Strangers choose addresses. So a host is resolved once, all its addresses are checked, and the connection goes to a
//! checked one: no second resolution can name another machine. Addresses of this machine and of private networks are
//! refused, unless the user named the host and port.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::timeout;

/// Connections that may be made; see the module.
#[derive(Clone, Debug, Default)]
pub struct OutboundRules {
    /// Hosts, in lower case and without brackets, with ports, that the user named.
    named: Vec<(String, u16)>,
}

/// Connection that cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum OutboundError {
    /// Host without an address.
    #[error("cannot find the host {host}: {error}")]
    Unknown {
        /// Host.
        host: String,
        /// Error of the resolver.
        error: io::Error,
    },
    /// Address of this machine or a private network.
    #[error("{host} is {address}, which is no public address: an option must name {host}:{port} to permit it")]
    Private {
        /// Host.
        host: String,
        /// Address of the host.
        address: IpAddr,
        /// Port.
        port: u16,
    },
    /// Address at which nobody answers.
    #[error("cannot connect to {address}: {error}")]
    Refused {
        /// Address.
        address: SocketAddr,
        /// Error of the system.
        error: io::Error,
    },
    /// Time that is over.
    #[error("no connection to {host} within {} ms", patience.as_millis())]
    Late {
        /// Host.
        host: String,
        /// Time that it had.
        patience: Duration,
    },
}

impl OutboundRules {
    /// Permits connections to this host and port, whatever their address is.
    #[must_use]
    pub fn with(mut self, host: &str, port: u16) -> Self {
        self.named.push((host.to_ascii_lowercase(), port));
        self
    }

    /// Connects to a host within this time.
    ///
    /// # Errors
    /// The host is unknown or not permitted, or nobody answers there in time.
    pub async fn connect(&self, host: &str, port: u16, patience: Duration) -> Result<TcpStream, OutboundError> {
        let connecting = timeout(patience, self.connect_checked(host, port));
        connecting.await.unwrap_or_else(|_| Err(OutboundError::Late { host: host.to_owned(), patience }))
    }

    async fn connect_checked(&self, host: &str, port: u16) -> Result<TcpStream, OutboundError> {
        let mut failure = None;
        for address in self.checked(host, port).await? {
            match TcpStream::connect(address).await {
                Ok(stream) => {
                    // Small messages must not wait for an acknowledgement.
                    let _ = stream.set_nodelay(true);
                    return Ok(stream);
                }
                Err(error) => failure = Some(OutboundError::Refused { address, error }),
            }
        }
        let error = || io::ErrorKind::NotFound.into();
        Err(failure.unwrap_or_else(|| OutboundError::Unknown { host: host.to_owned(), error: error() }))
    }

    /// Returns the addresses of a host, if all of them are permitted.
    async fn checked(&self, host: &str, port: u16) -> Result<Vec<SocketAddr>, OutboundError> {
        let unknown = |error| OutboundError::Unknown { host: host.to_owned(), error };
        let addresses: Vec<SocketAddr> = match host.parse::<IpAddr>() {
            Ok(address) => vec![SocketAddr::new(address, port)],
            Err(_) => tokio::net::lookup_host((host, port)).await.map_err(unknown)?.collect(),
        };
        let is_named = self.named.iter().any(|(named, at)| *named == host && *at == port);
        match addresses.iter().map(SocketAddr::ip).find(|address| !is_named && !is_public(*address)) {
            Some(address) => Err(OutboundError::Private { host: host.to_owned(), address, port }),
            None => Ok(addresses),
        }
    }
}

/// Returns true for an address that anybody on the internet may have.
fn is_public(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(v4) => is_public_v4(v4),
        IpAddr::V6(v6) => is_public_v6(v6),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let is_special = match (a, b, c) {
        // This network, shared (CGNAT), protocol assignments, 6to4 relays, benchmarks.
        (0, ..) | (100, 64..=127, _) | (192, 0, 0) | (192, 88, 99) | (198, 18 | 19, _) => true,
        // Multicast, reserved, broadcast.
        (224.., ..) => true,
        _ => false,
    };
    let is_near = address.is_loopback() || address.is_private() || address.is_link_local();
    !is_special && !is_near && !address.is_documentation()
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let [first, second, ..] = address.segments();
    // Global unicast, without documentation, Teredo and 6to4, which contain other addresses. NAT64 is outside it.
    let is_global = first & 0xe000 == 0x2000;
    is_global && first != 0x2002 && !(first == 0x2001 && (second < 0x0200 || second == 0x0db8)) && first != 0x3fff
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn near_addresses_are_not_public() {
        for text in [
            "127.0.0.1",
            "127.9.9.9",
            "0.0.0.0",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "192.0.0.8",
            "198.18.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "192.0.2.1",
            "::1",
            "::",
            "::ffff:127.0.0.1",
            "::ffff:7f00:1",
            "fe80::1",
            "fd00::1",
            "fc00::1",
            "64:ff9b::7f00:1",
            "2002:7f00:1::",
            "2001::1",
            "ff02::1",
            "2001:db8::1",
            "::127.0.0.1",
        ] {
            assert!(!is_public(text.parse().expect("an address")), "{text}");
        }
        for text in ["8.8.8.8", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "2a00::1", "::ffff:8.8.8.8"] {
            assert!(is_public(text.parse().expect("an address")), "{text}");
        }
    }

    #[tokio::test]
    async fn loopback_needs_a_name() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let (rules, patience) = (OutboundRules::default(), Duration::from_secs(5));
        for host in ["127.0.0.1", "localhost", "::ffff:127.0.0.1"] {
            let error = rules.connect(host, port, patience).await.expect_err(host);
            assert!(matches!(error, OutboundError::Private { .. }), "{error}");
        }
        let named = rules.with("localhost", port).with("127.0.0.1", port + 1);
        assert!(named.connect("localhost", port, patience).await.is_ok());
        assert!(named.connect("127.0.0.1", port, patience).await.is_err(), "another port was named");
    }
}
