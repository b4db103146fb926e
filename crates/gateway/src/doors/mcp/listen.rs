//! Streams of notifications: lists and resources that changed.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::http::Response;
use futures_util::stream;
use rustc_hash::FxHashMap;
use serde_json::{Value as Json, json};
use tokio::sync::watch;
use whimbrel_interop::mcp::{ListenFilter, McpError, McpOffer, results};
use whimbrel_platform::connection_limit::ConnectionPlace;
use whimbrel_platform::limits::{MCP_BELIEFS_INTERVAL_MS, MCP_KEEPALIVE_MS};

use super::McpDoor;
use super::belief_resources::BeliefAddress;
use super::post::McpAsker;
use crate::doors::event_stream::{STILL_HERE, event, event_stream, ms};
use crate::server::closed;
use crate::shared::GatewayState;

/// Listener: what it wants and what it knows.
struct Listener {
    door: Arc<McpDoor>,
    state: Arc<GatewayState>,
    offers: watch::Receiver<Arc<McpOffer>>,
    known: Arc<McpOffer>,
    filter: ListenFilter,
    /// Request that opened the stream, in the modern era.
    id: Option<Json>,
    /// Session and its client, in the legacy era: the session has the resources.
    session: Option<(String, String)>,
    /// True if the client may read beliefs.
    may_look: bool,
    /// Text of beliefs by their URIs.
    beliefs: FxHashMap<String, String>,
    closing: watch::Receiver<bool>,
    messages: VecDeque<Json>,
    _place: ConnectionPlace,
}

impl McpAsker<'_> {
    /// Opens a stream of notifications; `id` is that of the request, in the modern era.
    pub(super) fn listen(
        &self,
        state: &Arc<GatewayState>,
        filter: ListenFilter,
        id: Option<Json>,
    ) -> Result<Response<Body>, McpError> {
        let place = self.place()?;
        let offers = self.door.announced.subscribe();
        let known = self.door.newest_offer();
        let first = id.as_ref().map(|id| results::acknowledged(id, &filter));
        let listener = Listener {
            door: Arc::clone(self.door),
            state: Arc::clone(state),
            offers,
            known,
            filter,
            id,
            session: self.session.clone().map(|session| (session, self.client.name.clone())),
            may_look: self.client.role.is_some(),
            beliefs: FxHashMap::default(),
            closing: self.state.closing.subscribe(),
            messages: first.into_iter().collect(),
            _place: place,
        };
        Ok(event_stream(stream::unfold(Some(listener), next_message)))
    }
}

async fn next_message(listener: Option<Listener>) -> Option<(Result<Bytes, Infallible>, Option<Listener>)> {
    let mut listener = listener?;
    loop {
        if let Some(message) = listener.messages.pop_front() {
            return Some((Ok(event(&message)), Some(listener)));
        }
        tokio::select! {
            changed = listener.offers.changed() => {
                changed.ok()?;
                listener.compare_offers();
            }
            () = tokio::time::sleep(ms(MCP_BELIEFS_INTERVAL_MS)), if listener.watches_beliefs() => {
                listener.compare_beliefs().await?;
            }
            () = tokio::time::sleep(ms(MCP_KEEPALIVE_MS)) => return Some((Ok(STILL_HERE), Some(listener))),
            () = closed(&mut listener.closing) => return None,
        }
    }
}

impl Listener {
    fn note(&mut self, method: &str, params: Json) {
        let message = match &self.id {
            Some(id) => results::tagged(method, id, params),
            None => results::notification(method, params),
        };
        self.messages.push_back(message);
    }

    fn compare_offers(&mut self) {
        let newest = Arc::clone(&self.offers.borrow_and_update());
        let [tools, prompts, resources] = newest.changes(&self.known);
        self.known = newest;
        for (is_wanted, has_changed, method) in [
            (self.filter.tools, tools, "notifications/tools/list_changed"),
            (self.filter.prompts, prompts, "notifications/prompts/list_changed"),
            (self.filter.resources, resources, "notifications/resources/list_changed"),
        ] {
            if is_wanted && has_changed {
                self.note(method, json!({}));
            }
        }
    }

    fn watches_beliefs(&self) -> bool {
        self.may_look && (self.session.is_some() || !self.filter.uris.is_empty())
    }

    /// Compares beliefs with what they were; `None` if the session is over.
    async fn compare_beliefs(&mut self) -> Option<()> {
        let uris = match &self.session {
            None => self.filter.uris.clone(),
            Some((session, client)) => {
                let now = self.door.society.services().now();
                self.door.sessions().get(session, client, now).ok()?.uris.clone()
            }
        };
        self.beliefs.retain(|uri, _| uris.contains(uri));
        for uri in uris {
            let Some(address) = BeliefAddress::read(&uri) else { continue };
            let text = self.door.beliefs(&self.state, &address, &uri).await.unwrap_or_default();
            let before = self.beliefs.insert(uri.clone(), text);
            if before.is_some_and(|before| Some(&before) != self.beliefs.get(&uri)) {
                self.note("notifications/resources/updated", json!({"uri": uri}));
            }
        }
        Some(())
    }
}
