//! Requests that become WebSockets.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use axum::Extension;
use axum::body::Body;
use axum::extract::Request;
use axum::http::header::HOST;
use axum::http::{Response, StatusCode};
use whimbrel_platform::audit::RefusalReason;
use whimbrel_platform::connection_limit::ConnectionPlace;
use whimbrel_platform::limits::{
    HTTP_CONNECTIONS_MAX, LIVE_FRAME_BYTES_MAX, LIVE_HELLO_BYTES_MAX, SESSION_HELLO_BYTES_MAX,
};

use super::{State, refused};
use crate::live;
use crate::server::ClientAddress;
use crate::sessions::{SUBPROTOCOL, SessionSocket};
use crate::shared::{CounterEntry, GatewayState};
use crate::sockets::upgrade;
use whimbrel_operator::{Reason, Refusal};

pub async fn session(
    state: State,
    Extension(peer): Extension<ClientAddress>,
    Extension(connection): Extension<Arc<CounterEntry>>,
    mut request: Request,
) -> Response<Body> {
    let Some(sessions) = state.sessions.clone() else {
        return refused(&Refusal::new(Reason::NoSuchPath, "this node has no sessions"));
    };
    let stranger = match admit(&state, peer) {
        Ok(stranger) => stranger,
        Err(response) => return *response,
    };
    let host = request.headers().get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let mut places = vec![host.to_owned()];
    places.extend(state.access.public_names().iter().filter(|name| *name != host).cloned());
    match upgrade(&mut request, SUBPROTOCOL, SESSION_HELLO_BYTES_MAX, sessions.frame_bytes_max()) {
        Ok((response, socket)) => {
            tokio::spawn(async move {
                if let Ok(socket) = socket.await {
                    sessions.receive(SessionSocket::new(socket, (peer.0, places), connection), stranger).await;
                }
            });
            response
        }
        Err(why) => refused(&Refusal::new(Reason::BadRequest, why)),
    }
}

pub async fn live(
    state: State,
    Extension(peer): Extension<ClientAddress>,
    Extension(connection): Extension<Arc<CounterEntry>>,
    mut request: Request,
) -> Response<Body> {
    // Neither rate nor number of opened sockets decides: the socket that has said nothing for longest gives way.
    let Some(visit) = state.ungreeted.enter(peer.0.ip()) else {
        return refused(&Refusal::new(
            Reason::Busy,
            "too many WebSockets have not identified themselves: try again in a moment",
        ));
    };
    match upgrade(&mut request, live::SUBPROTOCOL, LIVE_HELLO_BYTES_MAX, LIVE_FRAME_BYTES_MAX) {
        Ok((response, socket)) => {
            let shared = Arc::clone(&state.0);
            tokio::spawn(async move {
                if let Ok(socket) = socket.await {
                    live::serve(shared, socket, peer.0.ip(), visit).await;
                }
                drop(connection);
            });
            response
        }
        Err(why) => refused(&Refusal::new(Reason::BadRequest, why)),
    }
}

/// Takes a place for another WebSocket, unless too many have clients that did not identify themselves.
fn admit(shared: &GatewayState, ClientAddress(from): ClientAddress) -> Result<ConnectionPlace, Box<Response<Body>>> {
    let refuse = |status: StatusCode, text: &str| {
        shared.refuse(RefusalReason::TooMany, from.ip(), text);
        let mut response = refused(&Refusal::new(Reason::Busy, text));
        *response.status_mut() = status;
        Box::new(response)
    };
    if shared.connections.load(Ordering::Acquire) > HTTP_CONNECTIONS_MAX {
        return Err(refuse(
            StatusCode::SERVICE_UNAVAILABLE,
            "the node has its maximum of connections: try again in a moment",
        ));
    }
    if !shared.admits(from.ip()) {
        return Err(refuse(
            StatusCode::TOO_MANY_REQUESTS,
            "this address opens WebSockets too fast: try again in a moment",
        ));
    }
    shared.strangers.enter(from.ip()).ok_or_else(|| {
        refuse(
            StatusCode::SERVICE_UNAVAILABLE,
            "too many WebSockets have not identified themselves: try again in a moment",
        )
    })
}
