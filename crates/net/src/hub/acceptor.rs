//! Acceptor of a hub: takes connections of other nodes, and hands each to its link or turns it away.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;

use tokio::net::TcpListener;
use whimbrel_platform::audit::RefusalReason;
use whimbrel_platform::connection_limit::ConnectionPlace;
use whimbrel_platform::limits::NODES_MAX;
use whimbrel_platform::link::LinkError;

use super::{HubState, check_name};
use crate::connection::{Accepted, LinkConnection};
use crate::refusal;

pub(super) async fn accept(listener: TcpListener, inner: Arc<HubState>) {
    loop {
        let (socket, from, place) = inner.guard.accept(&listener, |from| inner.place_for(from)).await;
        let inner = Arc::clone(&inner);
        tokio::spawn(async move {
            let welcomed = async {
                let mut connection = LinkConnection::accept(socket, inner.tls().as_deref()).await?;
                let hello = connection.hello().await?;
                io::Result::Ok(Accepted { connection, hello, place })
            };
            match welcomed.await {
                Ok(accepted) => inner.welcome(accepted),
                Err(error) => {
                    let (reason, why) = (refusal::of_connection(&error), error.to_string());
                    let line = || format!("connection from {from} closed: {why}");
                    inner.guard.close_stranger(from.ip(), reason, &why, line);
                }
            }
        });
    }
}

/// Writes an error to a peer, and closes its connection.
pub(crate) fn close(accepted: Accepted, why: &LinkError) {
    let refusal = why.refusal().unwrap_or_default();
    tokio::spawn(async move {
        let Accepted { connection, place, .. } = accepted;
        connection.close(&refusal).await;
        drop(place);
    });
}

impl HubState {
    /// Takes a place for a stranger at this address, if there is one.
    fn place_for(&self, from: IpAddr) -> Option<ConnectionPlace> {
        self.strangers.enter(from, self.peers.is_known(from))
    }

    /// Gives a connection that a peer made to its link.
    fn welcome(self: &Arc<Self>, accepted: Accepted) {
        let name = accepted.hello.node.clone();
        // Check before anything is allocated for the peer, or taken from a link of that name: the peer may be nobody.
        if let Err(error) = self.me.admits(&accepted.hello) {
            if error.is_of_other_node() {
                // The peer looks for a node that left, or restarted under another name: no harm is meant.
                return close(accepted, &error);
            }
            let reason = refusal::of_link(&error).unwrap_or(RefusalReason::Malformed);
            return self.turn_away(accepted, reason, &error);
        }
        let present = self.peers.known().there_count();
        if name == self.me.node {
            return self.turn_away(accepted, RefusalReason::Impostor, &LinkError::NameTaken(name));
        }
        if check_name(&name).is_err() || present >= NODES_MAX {
            let why = LinkError::Impostor("invalid node name, or too many nodes".to_owned());
            return self.turn_away(accepted, RefusalReason::Impostor, &why);
        }
        if let Some((reason, why)) = accepted.connection.contradicts(&name, self.level) {
            return self.turn_away(accepted, reason, &LinkError::Impostor(why));
        }
        // The link decides whether the connection is its own: it knows which process has the name.
        let _ = self.peer_named(&name, false).accepted.send(Box::new(accepted));
    }

    /// Writes an error to a peer that connected, and closes the connection.
    pub fn turn_away(self: &Arc<Self>, accepted: Accepted, reason: RefusalReason, error: &LinkError) {
        let why = match error {
            LinkError::Impostor(why) => why.clone(),
            other => other.to_string(),
        };
        // The node's name is not proven here, only the address is.
        let (from, port) = (accepted.from(), accepted.connection.peer_address());
        let node = accepted.hello.node.clone();
        let line = || format!("refused node {node:?} from {port}: {why}");
        self.guard.close_stranger(from, Some(reason), &format!("claimed node {node:?}: {why}"), line);
        if reason != RefusalReason::BadToken {
            return close(accepted, error);
        }
        let (inner, refusal) = (Arc::clone(self), error.refusal().unwrap_or_default());
        tokio::spawn(async move {
            let Accepted { connection, place, .. } = accepted;
            if let Some(_place) = inner.guard.slow_down(from, place).await {
                connection.close(&refusal).await;
            }
        });
    }
}
