//! Clients of doors: who a request is from, by its token.

use std::net::IpAddr;

use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use whimbrel_acl::Symbol;
use whimbrel_platform::policy::Principal;

use crate::access::{Role, hash};

/// Names of clients with tokens of the HTTP port.
const OPERATOR: &str = "operator";
const VIEWER: &str = "viewer";

/// Client of a request.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct DoorClient {
    /// Name; empty for all clients without a token together.
    pub name: String,
    /// Client as the policy sees it.
    pub principal: Principal,
    /// Role that a token of the HTTP port gives.
    pub role: Option<Role>,
}

/// Tokens of clients, hashed.
pub(super) struct DoorTokens {
    hashes: Vec<(Vec<u8>, DoorClient)>,
    node: Symbol,
}

impl DoorTokens {
    /// Accepts these tokens, each of the client of that name, at this node.
    pub fn of(tokens: &[(String, String)], node: Symbol) -> Self {
        let hashes = tokens.iter().map(|(name, token)| (hash(token), client(name, node, None))).collect();
        Self { hashes, node }
    }

    /// Returns true if all clients need a token.
    pub fn are_needed(&self) -> bool {
        !self.hashes.is_empty()
    }

    /// Returns the client that sent these headers, with the role of its token. Without tokens, any client of this
    /// machine is accepted.
    pub fn client(&self, headers: &HeaderMap, role: Option<Role>, from: IpAddr) -> Option<DoorClient> {
        if let Some(role) = role {
            return Some(client(if role == Role::Admin { OPERATOR } else { VIEWER }, self.node, Some(role)));
        }
        let shown = headers.get(AUTHORIZATION).and_then(|shown| shown.to_str().ok());
        let token = shown.and_then(|shown| shown.split_once(' '));
        match token.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer")) {
            Some((_, token)) => {
                let shown = hash(token.trim());
                self.hashes.iter().find(|(hash, _)| *hash == shown).map(|(_, client)| client.clone())
            }
            None if shown.is_none() && self.hashes.is_empty() && from.to_canonical().is_loopback() => {
                Some(DoorClient { name: String::new(), principal: Principal::Stranger, role: None })
            }
            None => None,
        }
    }
}

fn client(name: &str, node: Symbol, role: Option<Role>) -> DoorClient {
    DoorClient { name: name.to_owned(), principal: Principal::Session { name: Symbol::new(name), node }, role }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use super::*;

    fn headers(token: Option<&str>) -> HeaderMap {
        let mut headers = HeaderMap::new();
        if let Some(token) = token {
            headers.insert(AUTHORIZATION, format!("Bearer {token}").parse().expect("a header"));
        }
        headers
    }

    #[test]
    fn tokens_name_clients() {
        let here = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let tokens = [("alice".into(), "secret-1".into()), ("bob".into(), "secret-2".into())];
        let tokens = DoorTokens::of(&tokens, "n1".into());
        let name = |token, role| tokens.client(&headers(token), role, here).map(|client| client.name);
        assert_eq!(name(Some("secret-1"), None).as_deref(), Some("alice"));
        assert_eq!(name(Some("secret-2"), None).as_deref(), Some("bob"));
        assert_eq!((name(Some("secret-3"), None), name(None, None)), (None, None));
        assert_eq!(name(Some("admin"), Some(Role::Admin)).as_deref(), Some("operator"));
        assert_eq!(name(Some("viewer"), Some(Role::Viewer)).as_deref(), Some("viewer"));
    }

    #[test]
    fn machine_needs_no_token() {
        let open = DoorTokens::of(&[], "n1".into());
        for here in [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)] {
            let client = open.client(&headers(None), None, here).expect("it is accepted");
            assert_eq!((client.name.as_str(), client.principal), ("", Principal::Stranger));
        }
        let elsewhere = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 7));
        assert_eq!(open.client(&headers(None), None, elsewhere), None);
        assert_eq!(open.client(&headers(Some("wrong")), None, IpAddr::V4(Ipv4Addr::LOCALHOST)), None);
    }
}
