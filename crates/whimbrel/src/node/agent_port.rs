//! The port where programs in any language have agents.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use whimbrel_net::agent_port::{
    AcceptedTokens, AgentPort, AgentPortConfig, FindSessionPorts, SessionPorts, TokenError, TokenFile,
};
use whimbrel_net::{Credentials, HubView, LinkSecurity};
use whimbrel_operator::{Answer, Request, SessionPortsInfo};
use whimbrel_platform::audit::Auditor;
use whimbrel_platform::limits::QUESTION_PATIENCE_MS;
use whimbrel_platform::session::{SessionGrant, SessionLimits};
use whimbrel_runtime::{DEVICES, Devices, Platform, Roll};

use super::Notes;
use super::credentials::{WatchedFolder, alone};
use super::ending::Farewell;
use super::http_port::{HttpPort, client_address_at};

/// Longest time for good-byes.
const CLOSE_PATIENCE: Duration = Duration::from_secs(2);

/// Address of sessions that come over HTTP.
const ON_THIS_MACHINE: &str = "127.0.0.1:0";

/// Address, tokens and limits of the agent port.
#[derive(Clone, Debug, Default)]
pub struct AgentPortOptions {
    /// Port of this machine, or address; there is no port if neither this nor HTTP is asked for.
    pub address: Option<String>,
    /// Secret that lets a program have agents of any name.
    pub token: Option<String>,
    /// File of tokens that let programs have agents of certain names.
    pub tokens: Option<PathBuf>,
    /// Limits of each session.
    pub limits: SessionLimits,
}

/// Opens it, if that is asked for, or if sessions can come over HTTP: there `http_token` lets one have any agents, too.
/// Clients wait until the society has begun ([`admit`]): what they send at once is for agents that are there.
pub fn open(
    options: &AgentPortOptions,
    level: impl FnOnce(&str) -> anyhow::Result<(LinkSecurity, Option<Credentials>)>,
    auditor: Option<Arc<dyn Auditor>>,
    links: Option<HubView>,
    http_token: Option<&str>,
    platform: &Platform,
    notes: &Notes,
) -> anyhow::Result<Option<Arc<AgentPort>>> {
    if options.address.is_none() && http_token.is_none() {
        return Ok(None);
    }
    let in_full = |port: &String| if port.contains(':') { port.clone() } else { format!("127.0.0.1:{port}") };
    let address = options.address.as_ref().map(in_full);
    let (level, credentials) = match address.as_deref() {
        Some(address) => level(address)?,
        // Sessions over HTTP are as secure as the HTTP port. A client with a certificate proves in its session that it
        // has the key.
        None => (LinkSecurity::Open, level(ON_THIS_MACHINE)?.1),
    };
    let operators = accepted(http_token).context("--http-token")?;
    let constant = accepted(options.token.as_deref()).context("--agent-token")?;
    // Errors in it are reported now, not to the first client.
    let file = options.tokens.as_deref().map(TokenFile::open).transpose()?;
    if address.is_some() && file.is_none() && options.token.is_none() && level == LinkSecurity::Open {
        bail!("--agent-port needs --agent-token or --agent-tokens, which admit programs (see `whimbrel help session`)")
    }
    let log = {
        let notes = notes.clone();
        move |text: &str| notes.news(text)
    };
    let log_of_tokens = log.clone();
    let limits = options.limits;
    let who = move |claim: &whimbrel_net::agent_port::Claim<'_>| {
        if let Some(name) = claim.certified.first() {
            // No token's account is called so: these are hashes.
            let account = format!("cert:{name}");
            let names = claim.certified.iter().map(ToString::to_string).collect();
            return Some(SessionGrant { account, ..SessionGrant::new(*name, names) });
        }
        let token = claim.token?;
        let listed = file.as_ref().and_then(|file| {
            file.grant(token).unwrap_or_else(|error| {
                log_of_tokens(&error.to_string());
                None
            })
        });
        constant.grant(token).or(listed).or_else(|| operators.grant(token))
    };
    let authorise = move |claim: &whimbrel_net::agent_port::Claim<'_>| who(claim).map(|grant| grant.within(limits));
    let (authorise, log_there) = (Box::new(authorise), Box::new(log.clone()));
    let session_ports = Some(find_session_ports(platform));
    let config = AgentPortConfig { level, credentials, links, session_ports, authorise, auditor, log: log_there };
    let port = match &address {
        Some(address) => AgentPort::bind(config, platform.host(), address)?,
        None => AgentPort::without_address(config, platform.host())?,
    };
    let port = port.with_limits(limits);
    if let Some(sockets) = port.io() {
        platform.serve(sockets);
    }
    if address.is_some() {
        log(&format!("agents can connect at {}", port.address()));
    }
    Ok(Some(Arc::new(port)))
}

fn accepted(token: Option<&str>) -> Result<AcceptedTokens, TokenError> {
    token.map_or_else(|| Ok(AcceptedTokens::none()), AcceptedTokens::one)
}

/// Asks other nodes where their clients connect.
fn find_session_ports(platform: &Platform) -> FindSessionPorts {
    let platform = platform.clone();
    Box::new(move |node| {
        let question = serde_json::to_vec(&Request::SessionPorts).ok()?;
        let answer = platform.ask_node(node, question, Duration::from_millis(QUESTION_PATIENCE_MS)).ok()?;
        match serde_json::from_slice(&answer).ok()? {
            Answer::SessionPorts(SessionPortsInfo { http, agent_port }) => {
                Some(SessionPorts { stream: agent_port, messages: http })
            }
            _ => None,
        }
    })
}

/// Returns the addresses at which clients reach this node and no other.
///
/// # Errors
/// The system does not say where it listens.
pub fn session_ports(http: Option<&HttpPort>, port: Option<&Arc<AgentPort>>) -> anyhow::Result<SessionPortsInfo> {
    let at = |port: &Arc<AgentPort>| Some(client_address_at(port.address().parse().ok()?));
    Ok(SessionPortsInfo { http: http.map(HttpPort::client_address).transpose()?, agent_port: port.and_then(at) })
}

/// Admits external programs, if they can have agents here, and creates the agent that shares out work among devices.
/// Call it after the society has begun: an agent of that name in the society or on another node takes its place.
pub fn admit(port: Option<&Arc<AgentPort>>, roll: &Roll, platform: &Platform) {
    if let Some(port) = port {
        let _ = platform.spawn_service(DEVICES, Devices::enrolled_in(roll.clone()));
        port.admit();
    }
}

/// Has the port show and trust what is in the folder, whenever that changes.
pub fn watch(port: Option<&Arc<AgentPort>>, credentials: WatchedFolder, notes: &Notes) {
    let Some(port) = port.map(Arc::downgrade) else { return };
    let told = notes.clone();
    credentials.watch(notes.clone(), move |credentials| {
        let Some(port) = port.upgrade() else { return false };
        if let Some(Err(error)) = credentials.map(|credentials| port.set_credentials(credentials)) {
            told.warning(&format!("agent port: cannot use the new credentials: {error}"));
        }
        true
    });
}

/// Says good-bye to the agents there, and does not wait: what carries their sessions can be closed then.
pub fn end_sessions(port: Option<&Arc<AgentPort>>) {
    if let Some(port) = port {
        port.end_sessions();
    }
}

/// Ends what is left of it, when nothing carries sessions any more.
pub fn close(port: Option<Arc<AgentPort>>, farewell: &Farewell) {
    if let Some(port) = port {
        alone(port).close(farewell.patience(CLOSE_PATIENCE));
    }
}
