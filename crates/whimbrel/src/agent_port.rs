//! The port where programs in any language have agents.

use std::sync::Arc;
use std::time::Duration;

use anyhow::bail;
use whimbrel_net::agent_port::{AgentPort, AgentPortConfig, Tokens};
use whimbrel_net::{Credentials, Level};
use whimbrel_platform::audit::Auditor;
use whimbrel_runtime::Platform;

use crate::arguments::AgentPortOptions;
use crate::terminal;

/// How long good-byes may take.
const CLOSE_PATIENCE: Duration = Duration::from_secs(2);

/// Opens it, if that is asked for.
pub fn open(
    options: &AgentPortOptions,
    level: impl FnOnce(&str) -> anyhow::Result<(Level, Option<Credentials>)>,
    auditor: Option<Arc<dyn Auditor>>,
    quiet: bool,
    platform: &Platform,
) -> anyhow::Result<Option<AgentPort>> {
    let Some(port) = &options.agent_port else { return Ok(None) };
    let address = if port.contains(':') { port.clone() } else { format!("127.0.0.1:{port}") };
    let (level, credentials) = level(&address)?;
    let constant = options.agent_token.as_deref().map_or_else(|| Ok(Tokens::none()), Tokens::one)?;
    let file = options.agent_tokens.clone();
    match &file {
        // What is wrong with it is told now, not to the first who comes.
        Some(file) => drop(Tokens::read(file)?),
        None if options.agent_token.is_none() => {
            bail!("who may have agents here? Give --agent-token, or --agent-tokens (see `whimbrel help session`)")
        }
        None => {}
    }
    let log = move |text: &str| {
        if !quiet {
            terminal::note(text);
        }
    };
    let authorise = move |claim: &whimbrel_net::agent_port::Claim<'_>| {
        let token = claim.token?;
        let listed = file.as_deref().map(|file| {
            Tokens::read(file).unwrap_or_else(|error| {
                log(&error.to_string());
                Tokens::none()
            })
        });
        constant.clone().and(listed.unwrap_or_default()).grant(token)
    };
    let config = AgentPortConfig { level, credentials, authorise: Box::new(authorise), auditor, log: Box::new(log) };
    let port = AgentPort::open(config, platform.host(), &address)?;
    log(&format!("agents can connect at {}", port.address()));
    Ok(Some(port))
}

/// Says good-bye to the agents there.
pub fn close(port: Option<AgentPort>) {
    if let Some(port) = port {
        port.close(CLOSE_PATIENCE);
    }
}
