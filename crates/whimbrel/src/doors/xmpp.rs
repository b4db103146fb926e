//! Connection of a node to an XMPP server, as its user asked for it.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use whimbrel_gateway::doors::xmpp::{XmppConfig, XmppDoor};
use whimbrel_runtime::Platform;

use super::NodePort;
use crate::node::Notes;

/// Longest time for messages that wait when the node ends.
const CLOSE_PATIENCE: Duration = Duration::from_secs(2);

/// Connection that the user asked for.
#[derive(Clone, Debug, Default)]
pub struct XmppOptions {
    /// Address of the server's port for components; there is no connection without one.
    pub server: Option<String>,
    /// Domain of the agents here.
    pub domain: String,
    /// Secret that the server expects from the component.
    pub secret: String,
}

/// Connects to the XMPP server, if the user asked for it. A server that is not there yet is tried again.
///
/// # Errors
/// The thread cannot be started.
pub fn open(options: &XmppOptions, platform: &Platform, notes: &Notes) -> anyhow::Result<Option<XmppDoor>> {
    let Some(server) = &options.server else { return Ok(None) };
    let config = XmppConfig {
        node: Arc::new(NodePort(platform.clone())),
        server: server.clone(),
        domain: options.domain.clone(),
        secret: options.secret.clone(),
    };
    let door = XmppDoor::open(config).context("cannot start the thread for XMPP")?;
    notes.news(&format!("agents of XMPP reach NAME@{} by the server at {server}", options.domain));
    Ok(Some(door))
}

/// Closes the connection: messages that wait may still leave.
pub fn close(door: Option<XmppDoor>) {
    if let Some(door) = door {
        door.close(CLOSE_PATIENCE);
    }
}
