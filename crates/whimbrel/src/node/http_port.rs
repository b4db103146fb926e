//! The node's HTTP port: which address, which tokens, which certificate.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use rustls::ServerConfig;
use tokio::net::TcpSocket;
use whimbrel_gateway::{Access, Gateway, GatewayConfig, Role};
use whimbrel_net::agent_port::{AgentPort, new_token};
use whimbrel_net::{Credentials, LinkSecurity, https};
use whimbrel_operator::Operator;
use whimbrel_platform::audit::Auditor;
use whimbrel_runtime::Platform;

use super::credentials::{self, WatchedFolder, alone};
use super::ending::Farewell;
use super::{Notes, open_files};
use crate::WebSessions;
use crate::doors::a2a::A2aOptions;
use crate::doors::mcp::McpOptions;

/// Default address of the console; if it is taken, any free port is used.
const USUAL: &str = "127.0.0.1:8420";
const ANY: &str = "127.0.0.1:0";
/// Longest time for good-byes.
const CLOSE_PATIENCE: Duration = Duration::from_secs(2);
/// The name that certificates of all nodes have.
const NODE: &str = "node.whimbrel";

/// Place of a node's HTTP port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Http {
    /// Nowhere.
    Off,
    /// Address of the port.
    At(String),
}

/// Address, tokens and files of a node's HTTP port.
#[derive(Clone, Debug, Default)]
pub struct HttpOptions {
    /// Place of the port; a usual one, or none, if nothing is said.
    pub http: Option<Http>,
    /// True if other processes share the port.
    pub reuse_port: bool,
    /// Address at which clients reach this node and no other, if a proxy stands before it.
    pub public: Option<String>,
    /// Token that allows everything; made up if there is none.
    pub token: Option<String>,
    /// Token that allows looking only.
    pub viewer_token: Option<String>,
    /// Origins whose pages may ask.
    pub origins: Vec<String>,
    /// Folder of pages that are served to anybody.
    pub pages: Option<PathBuf>,
    /// Certificate (PEM) for browsers; the node's own if there is none.
    pub certificate: Option<PathBuf>,
    /// Key (PEM) of that certificate.
    pub key: Option<PathBuf>,
    /// Agents that are published over A2A.
    pub a2a: A2aOptions,
    /// Services of agents that are offered over MCP.
    pub mcp: McpOptions,
}

/// Inputs of a node's HTTP port.
pub struct HttpSetup<'a> {
    /// Options of the user.
    pub options: &'a HttpOptions,
    /// True if the node has an HTTP port by default.
    pub unless_said: bool,
    /// Security of links, if it was said.
    pub level: Option<LinkSecurity>,
    /// The node's credentials, if it has some.
    pub credentials: Option<&'a Path>,
    /// Receiver of what the operator is told.
    pub notes: &'a Notes,
}

impl HttpSetup<'_> {
    /// Returns the listener, if the node has an HTTP port.
    fn listener(&self) -> anyhow::Result<Option<TcpListener>> {
        match &self.options.http {
            Some(Http::Off) => Ok(None),
            Some(Http::At(address)) => {
                let listening = bind(address, self.options.reuse_port);
                let told = |error| {
                    anyhow::anyhow!("cannot listen at {address}: {error}: choose another with --http, or `off`")
                };
                Ok(Some(listening.map_err(told)?))
            }
            // Nobody would learn the address.
            None if !self.unless_said || self.notes.is_quiet() => Ok(None),
            None => Ok(bind(USUAL, false).or_else(|_| bind(ANY, false)).ok()),
        }
    }

    /// Returns the TLS configuration for connections at this address, if they are encrypted.
    fn tls(&self, listener: &TcpListener) -> anyhow::Result<Option<Arc<ServerConfig>>> {
        let read =
            |path: &Path| std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()));
        if let (Some(certificate), Some(key)) = (&self.options.certificate, &self.options.key) {
            return Ok(Some(https(&read(certificate)?, &read(key)?)?));
        }
        let is_here = listener.local_addr()?.ip().is_loopback();
        if is_here || self.level == Some(LinkSecurity::Open) {
            return Ok(None);
        }
        let Some(folder) = self.credentials else {
            bail!(
                "a console for other machines must be encrypted: give --http-certificate and --http-key, or --credentials \
                 (or --security open)"
            );
        };
        let Credentials { certificate_pem, key_pem, .. } = credentials::read(folder)?;
        Ok(Some(https(&certificate_pem, &key_pem)?))
    }

    /// Returns the access rules, and the token for full access.
    fn access(&self) -> anyhow::Result<(Access, String)> {
        let admin = match &self.options.token {
            Some(token) => token.clone(),
            None => new_token(&["*".to_owned()])?.0,
        };
        let mut access = Access::none().with_token(&admin, Role::Admin).with_host(NODE);
        if let Some(viewer) = &self.options.viewer_token {
            access = access.with_token(viewer, Role::Viewer);
        }
        for origin in &self.options.origins {
            access = access.with_origin(origin);
        }
        if let Some(public) = &self.options.public {
            access = access.with_public_name(public);
        }
        Ok((access, admin))
    }

    /// Takes the address, and reads the tokens. Clients that connect wait until the node has started.
    ///
    /// # Errors
    /// The address is not to be had, or there is nothing to encrypt connections with that are to be.
    pub fn prepare(&self) -> anyhow::Result<Option<HttpPort>> {
        // Each connection is an open file.
        open_files::raise();
        let Some(listener) = self.listener()? else {
            if !self.options.a2a.published.is_empty() {
                bail!("--a2a publishes agents at the HTTP port, and the node has none: give --http");
            }
            if !self.options.mcp.offered.is_empty() {
                bail!("--mcp offers services at the HTTP port, and the node has none: give --http");
            }
            return Ok(None);
        };
        let tls = self.tls(&listener)?;
        let (access, token) = self.access()?;
        let follows = self.options.certificate.is_none();
        let credentials = self.credentials.filter(|_| follows && tls.is_some()).map(Path::to_owned);
        let pages = self.options.pages.clone();
        if let Some(pages) = pages.as_deref().filter(|pages| !pages.is_dir()) {
            bail!("{} is no folder of web pages", pages.display());
        }
        let (own, access) = if self.options.reuse_port {
            let shared = listener.local_addr()?;
            // Whatever is free, where the shared one is.
            let own = bind_at(SocketAddr::new(shared.ip(), 0), false)?;
            (Some(own), access.with_shared_port(shared.port()))
        } else {
            (None, access)
        };
        let (public, notes) = (self.options.public.clone(), self.notes.clone());
        let (a2a, mcp) = (self.options.a2a.clone(), self.options.mcp.clone());
        Ok(Some(HttpPort { listener, own, public, tls, access, token, pages, credentials, notes, a2a, mcp }))
    }
}

/// Connections that may wait to be accepted: thousands come at once after a node was away for a moment. A client that
/// finds no room tries again after one second, then two, then four.
const BACKLOG: u32 = 4_096;

/// Returns the address that clients are given: the port alone if the node has the host that they know, for example
/// because it listens at all addresses of the machine.
pub fn client_address_at(address: SocketAddr) -> String {
    let ip = address.ip();
    if ip.is_loopback() || ip.is_unspecified() { format!(":{}", address.port()) } else { address.to_string() }
}

/// Listens at an address; if it is shared, other processes may, too (`SO_REUSEPORT`).
fn bind(address: &str, is_shared: bool) -> std::io::Result<TcpListener> {
    let mut refused = std::io::ErrorKind::AddrNotAvailable.into();
    for address in address.to_socket_addrs()? {
        match bind_at(address, is_shared) {
            Ok(listener) => return Ok(listener),
            Err(error) => refused = error,
        }
    }
    Err(refused)
}

fn bind_at(address: SocketAddr, is_shared: bool) -> std::io::Result<TcpListener> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let _context = runtime.enter();
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    crate::system::set_sharing(&socket, is_shared)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)?.into_std()
}

/// Address of the console, and its token.
pub struct ConsoleAt {
    scheme: &'static str,
    address: SocketAddr,
    /// The token that lets one do everything.
    pub token: String,
}

impl ConsoleAt {
    /// Returns the console's address for a browser on this machine, without the token: `0.0.0.0` cannot be visited.
    pub fn here(&self) -> String {
        let ip = match self.address.ip() {
            IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
            ip => ip,
        };
        format!("{}://{}", self.scheme, SocketAddr::new(ip, self.address.port()))
    }
}

impl std::fmt::Display for ConsoleAt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/#token={}", self.here(), self.token)
    }
}

/// An HTTP port to be.
pub struct HttpPort {
    listener: TcpListener,
    /// Listener of this process alone, if others share the port.
    own: Option<TcpListener>,
    /// Public address, if clients reach the listener elsewhere.
    public: Option<String>,
    tls: Option<Arc<ServerConfig>>,
    access: Access,
    token: String,
    pages: Option<PathBuf>,
    /// The folder with the certificate, if that is the node's own.
    credentials: Option<PathBuf>,
    notes: Notes,
    a2a: A2aOptions,
    mcp: McpOptions,
}

impl HttpPort {
    /// Returns the token for full access.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// Returns the address at which clients reach this node and no other.
    ///
    /// # Errors
    /// The system does not say where it listens.
    pub fn client_address(&self) -> std::io::Result<String> {
        if let Some(public) = &self.public {
            return Ok(public.clone());
        }
        Ok(client_address_at(self.own.as_ref().unwrap_or(&self.listener).local_addr()?))
    }

    /// Returns the address of the console.
    pub fn console(&self) -> std::io::Result<ConsoleAt> {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        Ok(ConsoleAt { scheme, address: self.listener.local_addr()?, token: self.token.clone() })
    }

    fn open(
        self,
        operator: Arc<dyn Operator>,
        sessions: &Arc<AgentPort>,
        auditor: Option<Arc<dyn Auditor>>,
        platform: &Platform,
    ) -> anyhow::Result<Arc<Gateway>> {
        let console = self.console()?;
        let Self { listener, own, tls, access, pages, credentials, notes, a2a, mcp, .. } = self;
        let held = Arc::new(WebSessions::of(sessions));
        let published = a2a.config(platform)?;
        if published.is_some() {
            notes.news(&format!("published over A2A: {}", a2a.addresses(&console.here())));
        }
        let mcp = mcp.config(platform)?;
        if mcp.is_some() {
            notes.news(&format!("MCP is at {}/mcp", console.here()));
        }
        let config = GatewayConfig { operator, sessions: Some(held), access, pages, tls, auditor, a2a: published, mcp };
        let gateway = Arc::new(Gateway::open(config, listener, sessions.threads())?);
        own.map(|own| gateway.listen_also(own, sessions.threads())).transpose()?;
        let is_everywhere = console.address.ip().is_unspecified();
        let elsewhere = if is_everywhere { " (from other machines: with this machine's name)" } else { "" };
        notes.news(&format!("the console is at {console}{elsewhere}"));
        if let Some(folder) = credentials {
            watch(&gateway, WatchedFolder::following(&folder), &notes);
        }
        Ok(gateway)
    }
}

/// Opens the port that was prepared, if one was.
///
/// # Errors
/// The socket is of no use.
pub fn open(
    prepared: Option<HttpPort>,
    operator: Arc<dyn Operator>,
    sessions: Option<&Arc<AgentPort>>,
    auditor: Option<Arc<dyn Auditor>>,
    platform: &Platform,
) -> anyhow::Result<Option<Arc<Gateway>>> {
    let both = prepared.zip(sessions);
    both.map(|(prepared, sessions)| prepared.open(operator, sessions, auditor, platform)).transpose()
}

/// Has connections encrypted with what is in the folder, whenever that changes.
fn watch(gateway: &Arc<Gateway>, credentials: WatchedFolder, notes: &Notes) {
    let gateway = Arc::downgrade(gateway);
    let told = notes.clone();
    credentials.watch(notes.clone(), move |credentials| {
        let Some(gateway) = gateway.upgrade() else { return false };
        let Some(credentials) = credentials else { return true };
        match https(&credentials.certificate_pem, &credentials.key_pem) {
            Ok(tls) => gateway.set_tls(tls),
            Err(error) => told.warning(&format!("console: cannot use the new credentials: {error}")),
        }
        true
    });
}

/// Closes the connections of all consoles.
pub fn close(gateway: Option<Arc<Gateway>>, farewell: &Farewell) {
    if let Some(gateway) = gateway {
        alone(gateway).close(farewell.patience(CLOSE_PATIENCE));
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpStream;

    use super::*;

    #[cfg(unix)]
    #[test]
    fn processes_share_port_on_request() {
        let first = bind("127.0.0.1:0", true).expect("a free port");
        let address = first.local_addr().expect("an address").to_string();
        let second = bind(&address, true).expect("they share it");
        assert_eq!(second.local_addr().expect("an address").to_string(), address);
        assert!(bind(&address, false).is_err(), "who does not say so has no part in it");
        assert!(bind("nowhere", true).is_err());
    }

    #[test]
    fn backlog_takes_many_connections() {
        let listener = bind("127.0.0.1:0", false).expect("a free port");
        let address = listener.local_addr().expect("an address");
        // A connection without room is refused for a second.
        let coming: Vec<_> =
            (0..500).map(|_| TcpStream::connect_timeout(&address, Duration::from_millis(900))).collect();
        assert!(coming.iter().all(Result::is_ok), "{} of them", coming.iter().filter(|came| came.is_ok()).count());
    }
}
