//! Access control: the tokens of users, and the origins of pages from which browsers may send requests.

use std::net::IpAddr;
use std::time::Instant;

use axum::http::header::{AUTHORIZATION, HOST, ORIGIN};
use axum::http::{HeaderMap, HeaderValue, Uri};
use ring::digest::{SHA256, digest};
use rustc_hash::FxHashMap;
use serde::Serialize;
use whimbrel_platform::connection_limit::household;
use whimbrel_platform::limits::{HTTP_ADDRESSES_MAX, HTTP_JOINS_AT_ONCE_MAX, HTTP_JOINS_PER_S};

use crate::console::POLICY;

/// Rights of a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// May look.
    Viewer,
    /// May look and act.
    Admin,
}

/// Access control of a gateway: accepted tokens, and accepted hosts and origins.
#[derive(Debug, Default)]
pub struct Access {
    /// Hashes of the tokens. Hashes are no secrets, so the time that a comparison takes reveals nothing.
    tokens: Vec<(Vec<u8>, Role)>,
    /// Host names that stand for this node, beside `localhost` and any numeric address, as browsers write them.
    hosts: Vec<String>,
    /// Hosts of the accepted origins, with their ports: names of this node outside a proxy that uses another name.
    public_names: Vec<String>,
    /// Other origins whose pages may send requests.
    origins: Vec<String>,
    any_origin: bool,
    /// Port that this process shares with others, if it shares one.
    shared_port: Option<u16>,
}

impl Access {
    /// Accepts no token and no other origin.
    pub fn none() -> Self {
        Self::default()
    }

    /// Accepts this token, and gives its holder this role.
    #[must_use]
    pub fn with_token(mut self, token: &str, role: Role) -> Self {
        self.tokens.push((hash(token), role));
        self
    }

    /// Accepts requests from pages of this origin, as `https://example.org`, and requests whose host is that of the
    /// origin. `*` stands for any origin.
    #[must_use]
    pub fn with_origin(mut self, origin: &str) -> Self {
        let origin = origin.trim_end_matches('/').to_ascii_lowercase();
        self.any_origin |= origin == "*";
        if let Some((scheme, authority)) = origin.split_once("://") {
            self.hosts.push(host_of(authority).to_owned());
            // Browsers leave out the usual port.
            let usual = if scheme == "https" { ":443" } else { ":80" };
            self.public_names.push(authority.strip_suffix(usual).unwrap_or(authority).to_owned());
        }
        self.origins.push(origin);
        self
    }

    /// Accepts requests to `HOST:PORT`, the name by which clients reach this node through a proxy. An authority without
    /// a host adds nothing: it means the host of all nodes, which is accepted already.
    #[must_use]
    pub fn with_public_name(mut self, authority: &str) -> Self {
        let authority = authority.to_ascii_lowercase();
        let host = host_of(&authority);
        if !host.is_empty() {
            self.hosts.push(host.to_owned());
            let bare = [":443", ":80"].iter().find_map(|usual| authority.strip_suffix(usual));
            self.public_names.push(bare.unwrap_or(&authority).to_owned());
        }
        self
    }

    /// Accepts requests to this host.
    #[must_use]
    pub fn with_host(mut self, host: &str) -> Self {
        self.hosts.push(host.to_ascii_lowercase());
        self
    }

    /// Accepts pages of the shared port: other processes share it, and clients of some are sent to this process at a
    /// port of its own.
    #[must_use]
    pub fn with_shared_port(self, port: u16) -> Self {
        Self { shared_port: Some(port), ..self }
    }

    /// Returns the content security policy of pages, if it is wider than [`POLICY`]. Pages of a shared port may connect
    /// to every process of the host; pages may also connect to nodes of the accepted origins.
    pub(crate) fn page_policy(&self, headers: &HeaderMap) -> Option<HeaderValue> {
        // `https` becomes `wss`.
        let mut more: Vec<_> =
            self.origins.iter().filter_map(|origin| Some(format!("ws{}", origin.strip_prefix("http")?))).collect();
        if self.shared_port.is_some() {
            let host = headers.get(HOST)?.to_str().ok()?.to_ascii_lowercase();
            let host = host_of(&host);
            more.push(format!("ws://{host}:* wss://{host}:*"));
        }
        if more.is_empty() {
            return None;
        }
        POLICY.replace("connect-src 'self'", &format!("connect-src 'self' {}", more.join(" "))).parse().ok()
    }

    /// Returns true if an authority is the shared port of the host that a request is for.
    fn is_siblings(&self, authority: &str, host: &str) -> bool {
        let Some(port) = self.shared_port else { return false };
        authority.rsplit_once(':').is_some_and(|(name, said)| name == host_of(host) && said == port.to_string())
    }

    /// Names of this node for clients behind a proxy that uses another name: hosts and ports of the accepted origins.
    pub fn public_names(&self) -> &[String] {
        &self.public_names
    }

    /// Returns the role of the holder of this token.
    pub fn role(&self, token: &str) -> Option<Role> {
        let shown = hash(token);
        self.tokens.iter().filter(|(hash, _)| *hash == shown).map(|(_, role)| *role).max()
    }

    /// Returns the role that the token in these headers gives; `None` without a token, or with a wrong one.
    pub fn role_of(&self, headers: &HeaderMap) -> Option<Role> {
        let shown = headers.get(AUTHORIZATION)?.to_str().ok()?;
        let (scheme, token) = shown.split_once(' ')?;
        if scheme.eq_ignore_ascii_case("bearer") { self.role(token.trim()) } else { None }
    }

    /// Checks that a request is meant for this node, and comes from one of its own pages or from no page.
    ///
    /// # Errors
    /// Reason of the refusal, in words. A host name that is not this node's points to DNS rebinding; a page of another
    /// origin would act with the rights of its visitor.
    pub fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), String> {
        // Of two different values, a proxy may obey the other one.
        if let Some(name) = [HOST, ORIGIN, AUTHORIZATION].iter().find(|name| headers.get_all(*name).iter().count() > 1)
        {
            return Err(format!("repeated header {name}: only one is allowed"));
        }
        let host = headers.get(HOST).map(|host| host.to_str().map(str::to_ascii_lowercase));
        let host = match host {
            Some(Ok(host)) => host,
            _ => return Err("the request has no Host header".to_owned()),
        };
        if uri.authority().is_some_and(|authority| !authority.as_str().eq_ignore_ascii_case(&host)) {
            return Err("the Host header differs from the host in the request line".to_owned());
        }
        if !self.is_here(host_of(&host)) {
            return Err(format!(
                "host {} is not this node: if it is one of its names, add it with --http-origin",
                shown(&host)
            ));
        }
        let Some(origin) = headers.get(ORIGIN) else { return Ok(()) };
        let origin = origin.to_str().unwrap_or_default().to_ascii_lowercase();
        let is_own = |authority: &str| authority == host || self.is_siblings(authority, &host);
        let is_own = origin.split_once("://").is_some_and(|(_, authority)| is_own(authority));
        if is_own || self.any_origin || self.origins.contains(&origin) {
            return Ok(());
        }
        Err(format!("pages of {} may not use this node: allow them with --http-origin", shown(&origin)))
    }

    /// Returns the origin of the request, if it is accepted and not the node's own: the answer must allow it to read.
    pub fn foreign_origin<'a>(&self, headers: &'a HeaderMap) -> Option<&'a str> {
        let origin = headers.get(ORIGIN)?.to_str().ok()?;
        (self.any_origin || self.origins.contains(&origin.to_ascii_lowercase())).then_some(origin)
    }

    /// Returns true if an accepted origin says that this host, with its port, is reached over TLS.
    pub(crate) fn is_secure_name(&self, host: &str) -> bool {
        self.origins.iter().any(|origin| origin.strip_prefix("https://") == Some(host))
    }

    fn is_here(&self, host: &str) -> bool {
        // Names can be made to lead anywhere; numeric addresses cannot.
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        host == "localhost" || bare.parse::<IpAddr>().is_ok() || self.hosts.iter().any(|known| known == host)
    }
}

/// Returns a host without its port.
fn host_of(authority: &str) -> &str {
    match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => authority,
    }
}

/// Shortens a text of a client for an error message.
fn shown(text: &str) -> String {
    text.chars().take(100).collect()
}

pub(crate) fn hash(token: &str) -> Vec<u8> {
    digest(&SHA256, token.as_bytes()).as_ref().to_vec()
}

/// Rate limit of new WebSockets: a bucket for each address, filled at a steady rate.
#[derive(Debug, Default)]
pub struct Joining {
    /// Level of each bucket, and the time of that level.
    buckets: FxHashMap<IpAddr, (f64, Instant)>,
}

impl Joining {
    /// Takes a permit for another WebSocket from this address; false if its bucket is empty.
    pub fn admits(&mut self, address: IpAddr, now: Instant) -> bool {
        let address = household(address);
        let full = f64::from(HTTP_JOINS_AT_ONCE_MAX);
        let filled = |(left, at): (f64, Instant)| {
            (left + now.saturating_duration_since(at).as_secs_f64() * f64::from(HTTP_JOINS_PER_S)).min(full)
        };
        if self.buckets.len() >= HTTP_ADDRESSES_MAX && !self.buckets.contains_key(&address) {
            self.buckets.retain(|_, bucket| filled(*bucket) < full);
            if self.buckets.len() >= HTTP_ADDRESSES_MAX {
                return false;
            }
        }
        let bucket = self.buckets.entry(address).or_insert((full, now));
        let left = filled(*bucket);
        let admitted = left >= 1.0;
        *bucket = (if admitted { left - 1.0 } else { left }, now);
        admitted
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn headers(host: &str, origin: Option<&str>) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(HOST, host.parse().expect("a header"));
        if let Some(origin) = origin {
            headers.insert(ORIGIN, origin.parse().expect("a header"));
        }
        headers
    }

    #[test]
    fn tokens_give_roles() {
        let access = Access::none().with_token("admin-token", Role::Admin).with_token("viewer-token", Role::Viewer);
        assert_eq!(access.role("admin-token"), Some(Role::Admin));
        assert_eq!(access.role("viewer-token"), Some(Role::Viewer));
        assert_eq!((access.role("admin-toke"), access.role("")), (None, None));
        let with = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(AUTHORIZATION, value.parse().expect("a header"));
            access.role_of(&headers)
        };
        assert_eq!(with("Bearer admin-token"), Some(Role::Admin));
        assert_eq!(with("bearer viewer-token"), Some(Role::Viewer));
        assert_eq!((with("admin-token"), with("Basic admin-token")), (None, None));
        assert_eq!(Access::none().role(""), None);
    }

    #[test]
    fn rebound_host_is_refused() {
        let access = Access::none().with_origin("https://bees.example:8443").with_host("node.whimbrel");
        for host in [
            "127.0.0.1:8420",
            "localhost:8420",
            "LOCALHOST",
            "[::1]:8420",
            "10.0.0.7",
            "bees.example",
            "node.whimbrel:1",
        ] {
            assert_eq!(access.check(&Uri::default(), &headers(host, None)), Ok(()), "{host}");
        }
        for host in ["evil.example", "127.0.0.1.evil.example:8420", "localhost.evil.example", "", "[::1].evil"] {
            assert!(access.check(&Uri::default(), &headers(host, None)).is_err(), "{host}");
        }
        assert!(access.check(&Uri::default(), &HeaderMap::new()).is_err());
    }

    #[test]
    fn repeated_headers_are_refused() {
        let access = Access::none().with_origin("https://bees.example");
        for (name, value) in [(HOST, "127.0.0.1"), (ORIGIN, "https://bees.example"), (AUTHORIZATION, "Bearer x")] {
            let mut doubled = headers("127.0.0.1", Some("https://bees.example"));
            doubled.insert(AUTHORIZATION, "Bearer x".parse().expect("a header"));
            assert_eq!(access.check(&Uri::default(), &doubled), Ok(()));
            doubled.append(&name, value.parse().expect("a header"));
            let refused = access.check(&Uri::default(), &doubled).expect_err("there are two");
            assert!(refused.contains(name.as_str()), "{refused}");
        }
        let asked = |uri: &str| access.check(&uri.parse().expect("a URI"), &headers("127.0.0.1:80", None));
        assert!(asked("/x").is_ok() && asked("http://127.0.0.1:80/x").is_ok());
        assert!(asked("http://evil.example/x").is_err());
    }

    #[test]
    fn foreign_pages_are_refused() {
        let access = Access::none().with_origin("https://bees.example/");
        let check = |host: &str, origin: &str| access.check(&Uri::default(), &headers(host, Some(origin))).is_ok();
        assert!(check("127.0.0.1:8420", "http://127.0.0.1:8420"));
        assert!(check("127.0.0.1:8420", "https://bees.example"));
        assert!(!check("127.0.0.1:8420", "http://127.0.0.1:9000"), "another program of this machine");
        assert!(!check("127.0.0.1:8420", "https://evil.example"));
        assert!(!check("127.0.0.1:8420", "null"), "a sandboxed page, or a file");
        assert!(!check("127.0.0.1:8420", ""));
        let any = Access::none().with_origin("*");
        assert!(any.check(&Uri::default(), &headers("localhost", Some("null"))).is_ok());
        assert_eq!(any.foreign_origin(&headers("localhost", Some("https://a.example"))), Some("https://a.example"));
        assert_eq!(access.foreign_origin(&headers("localhost", Some("https://a.example"))), None);
    }

    #[test]
    fn pages_of_shared_port_are_accepted() {
        let access = Access::none().with_shared_port(8420);
        let check = |host: &str, origin: &str| access.check(&Uri::default(), &headers(host, Some(origin))).is_ok();
        assert!(check("127.0.0.1:40001", "http://127.0.0.1:8420"));
        assert!(!check("127.0.0.1:40001", "http://127.0.0.1:9000"), "another program of this machine");
        assert!(!check("127.0.0.1:40001", "http://localhost:8420"), "the same by another name is another origin");
        let policy = access.page_policy(&headers("[::1]:8420", None)).expect("there is more to load");
        let policy = policy.to_str().expect("it is text");
        assert!(
            policy.contains("connect-src 'self' ws://[::1]:* wss://[::1]:*;") && policy.contains("object-src 'none'")
        );
        assert_eq!(Access::none().page_policy(&headers("127.0.0.1:8420", None)), None);
    }

    #[test]
    fn page_policy_allows_accepted_origins() {
        let access =
            Access::none().with_origin("https://n2.example").with_origin("http://n3.example:81").with_origin("*");
        let policy = access.page_policy(&headers("n1.example", None)).expect("more than usual");
        let policy = policy.to_str().expect("text");
        assert!(policy.contains("connect-src 'self' wss://n2.example ws://n3.example:81;"), "{policy}");
    }

    #[test]
    fn public_name_is_accepted() {
        let access = Access::none().with_public_name("N2.example:443").with_public_name(":8421");
        assert_eq!(access.check(&Uri::default(), &headers("n2.example", None)), Ok(()));
        assert!(
            access.check(&Uri::default(), &headers("n3.example", None)).is_err()
                && access.check(&Uri::default(), &headers("", None)).is_err()
        );
        assert_eq!(access.public_names(), ["n2.example"]);
        assert!(
            access.check(&Uri::default(), &headers("n2.example", Some("https://n2.example"))).is_ok(),
            "its own pages"
        );
        assert!(
            access.check(&Uri::default(), &headers("n2.example", Some("https://n1.example"))).is_err(),
            "others' must be let in"
        );
    }

    #[test]
    fn joins_of_address_are_rate_limited() {
        let (mut joining, begin) = (Joining::default(), Instant::now());
        let (one, other) = ([10, 0, 0, 1].into(), [10, 0, 0, 2].into());
        assert_eq!((0..10_000).filter(|_| joining.admits(one, begin)).count(), HTTP_JOINS_AT_ONCE_MAX as usize);
        assert!(joining.admits(other, begin), "others are not held up");
        let of_one_network = |number: u128| IpAddr::from((0x2001_0db8_u128 << 96 | number).to_be_bytes());
        let admitted = (0..10_000).filter(|number| joining.admits(of_one_network(*number), begin)).count();
        assert_eq!(admitted, HTTP_JOINS_AT_ONCE_MAX as usize, "whoever has a network has all its addresses");
        let later = begin + Duration::from_millis(100);
        assert_eq!((0..10_000).filter(|_| joining.admits(one, later)).count(), HTTP_JOINS_PER_S as usize / 10);
    }

    #[test]
    fn number_of_addresses_is_limited() {
        let (mut joining, begin) = (Joining::default(), Instant::now());
        let address = |number: usize| IpAddr::from((number as u32).to_be_bytes());
        assert!((0..HTTP_ADDRESSES_MAX).all(|number| joining.admits(address(number), begin)));
        assert!(!joining.admits(address(HTTP_ADDRESSES_MAX), begin));
        assert!(
            joining.admits(address(HTTP_ADDRESSES_MAX), begin + Duration::from_secs(10)),
            "the others' buckets are full"
        );
        assert_eq!(joining.buckets.len(), 1);
    }
}
