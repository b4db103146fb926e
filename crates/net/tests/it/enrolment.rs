//! Nodes that get their certificates over the network, and an authority that takes a new key into use.

use std::path::PathBuf;
use std::time::Duration;

use whimbrel_net::authority::file::{Folder, save};
use whimbrel_net::enrolment::{EnrolError, Enrolment, EnrolmentConfig, enrol, look_after, renew};
use whimbrel_net::{Authority, Credentials, EnrolmentToken, LinkSecurity, NodeKeys};
use whimbrel_platform::audit::RefusalReason;
use whimbrel_platform::limits::{ENROLMENTS_PER_ADDRESS_MAX, WRONG_SECRETS_FREE};

use super::{Setting, TestNode, until};

const HOUR: Duration = Duration::from_secs(3_600);

/// An authority that serves.
struct Service {
    path: PathBuf,
    folder: Folder,
    service: Enrolment,
}

impl Service {
    fn start(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("whimbrel-ca-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        save(&mut Authority::create("p").unwrap(), &path, "open sesame").unwrap();
        let folder = Folder::new(&path, "open sesame");
        let config = EnrolmentConfig { folder: folder.clone(), auditor: None, log: Box::new(|_| ()) };
        let service = Enrolment::start(config, "127.0.0.1:0").unwrap();
        Self { path, folder, service }
    }

    fn address(&self) -> String {
        self.service.address().to_string()
    }

    fn token(&self, node: &str) -> EnrolmentToken {
        self.folder.with(|authority| authority.permit(node, &[], 5, HOUR)).unwrap()
    }

    fn enrolled(&self, node: &str) -> Credentials {
        enrol(&self.address(), &self.token(node)).unwrap()
    }

    #[track_caller]
    fn refuses(&self, token: &EnrolmentToken, why: &str, reason: RefusalReason) {
        let before = self.service.refusals().of(reason);
        let error = enrol(&self.address(), token).unwrap_err();
        assert!(matches!(&error, EnrolError::Refused(said) if said == why), "{error:?}");
        assert_eq!(self.service.refusals().of(reason), before + 1);
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

fn node(name: &str, credentials: &Credentials) -> TestNode {
    let setting = Setting {
        level: Some(LinkSecurity::Authenticated),
        credentials: Some(credentials.clone()),
        token: None,
        ..Setting::default()
    };
    TestNode::start(name, setting)
}

/// Starts two nodes, and waits until they are linked.
fn link(one: (&str, &Credentials), other: (&str, &Credentials)) -> (TestNode, TestNode) {
    let (one, other) = (node(one.0, one.1), node(other.0, other.1));
    other.hub.connect(one.address());
    until("they are linked", || one.hub.has_links(1) && other.hub.has_links(1));
    (one, other)
}

#[test]
fn enrolled_nodes_link() {
    let service = Service::start("enrol");
    let (one, other) = (service.enrolled("n1"), service.enrolled("n2"));
    let (one, other) = link(("n1", &one), ("n2", &other));
    drop((one, other));
    let key = std::fs::read_to_string(service.path.join("authority.json")).unwrap();
    assert!(!key.contains("PRIVATE KEY"), "no key came here");
}

#[test]
fn used_expired_foreign_tokens_are_refused() {
    let service = Service::start("tokens");
    let token = service.token("n1");
    enrol(&service.address(), &token).unwrap();
    service.refuses(
        &token,
        "the token was used already: make another with `whimbrel ca token`",
        RefusalReason::BadToken,
    );
    let late = service.folder.with(|authority| authority.permit("n2", &[], 5, Duration::ZERO)).unwrap();
    std::thread::sleep(Duration::from_millis(1_100));
    service.refuses(&late, "the token has expired: make another with `whimbrel ca token`", RefusalReason::BadToken);
    let (digest, rest) = token.to_string().split_once('.').map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
    let renamed: EnrolmentToken = service.token("n2").to_string().replace(".n2", ".n1").parse().unwrap();
    service.refuses(&renamed, "unknown token: this authority did not make it", RefusalReason::BadToken);
    // Somebody else who answers at the address does not get to hear the secret.
    let other = Service::start("tokens-other");
    let error = enrol(&other.address(), &service.token("n3")).unwrap_err();
    assert!(matches!(error, EnrolError::Connection { .. }), "{error:?}");
    let misled: EnrolmentToken = format!("{}.{rest}", "0".repeat(digest.len())).parse().unwrap();
    assert!(matches!(enrol(&service.address(), &misled), Err(EnrolError::Connection { .. })));
}

#[test]
fn renewal_needs_valid_certificate() {
    let service = Service::start("renewal");
    let first = service.enrolled("n1");
    let second = renew(&service.address(), &first).unwrap();
    assert_ne!(first.key_pem, second.key_pem);
    assert!(!second.wants_renewal().unwrap());
    let (trust, outdated) = look_after(&service.address(), &second).unwrap();
    assert!(second.trusts_as(&trust).unwrap() && !outdated);
    assert!(service.folder.with(|authority| Ok(authority.revoke("n1"))).unwrap() > 0);
    assert!(matches!(renew(&service.address(), &second), Err(EnrolError::Connection { .. })));
    let mut theirs = Authority::create("p").unwrap();
    let mut stranger = theirs.issue("n1", &[], 1).unwrap();
    stranger.authority_pem.clone_from(&first.authority_pem);
    stranger.revoked_pem.clone_from(&first.revoked_pem);
    assert!(matches!(renew(&service.address(), &stranger), Err(EnrolError::Connection { .. })));
}

#[test]
fn revocation_ends_links() {
    let mut authority = Authority::create("p").unwrap();
    let (host, thief) = (authority.issue("host", &[], 1).unwrap(), authority.issue("thief", &[], 1).unwrap());
    let (one, _thief) = link(("host", &host), ("thief", &thief));
    let friend = node("friend", &authority.issue("friend", &[], 1).unwrap());
    friend.hub.connect(one.address());
    until("the friend is there", || one.hub.has_links(2));
    authority.revoke("thief");
    let host = Credentials { revoked_pem: authority.revocation_lists().unwrap(), ..host };
    one.hub.set_credentials(&host).unwrap();
    until("the thief is out", || one.hub.status().iter().filter(|link| link.up).count() == 1);
    std::thread::sleep(Duration::from_millis(300));
    let up: Vec<_> = one.hub.status().into_iter().filter(|link| link.up).filter_map(|link| link.node).collect();
    assert_eq!(up, ["friend"]);
    assert!(one.hub.refusals().of(RefusalReason::Revoked) > 0);
}

#[test]
fn key_rotates_while_nodes_run() {
    let service = Service::start("rotate");
    let (mut a, mut b) = (service.enrolled("n1"), service.enrolled("n2"));
    let (one, other) = link(("n1", &a), ("n2", &b));
    let refresh = |credentials: &mut Credentials, hub: &whimbrel_net::Hub| {
        let (trust, outdated) = look_after(&service.address(), credentials).unwrap();
        credentials.authority_pem = trust.authority_pem;
        credentials.revoked_pem = trust.revoked_pem;
        if outdated {
            *credentials = renew(&service.address(), credentials).unwrap();
        }
        hub.set_credentials(credentials).unwrap();
        outdated
    };
    let stale = a.clone();
    service.folder.with(Authority::begin_rotation).unwrap();
    assert!(!refresh(&mut a, &one.hub) && !refresh(&mut b, &other.hub), "the old key signs still");
    service.folder.with(Authority::switch_rotation).unwrap();
    // Who was away since before the new key was made still finds the service.
    assert!(look_after(&service.address(), &stale).unwrap().1);
    // One has a certificate by the new key, the other by the old: they trust each other.
    assert!(refresh(&mut a, &one.hub));
    let third = node("n3", &service.enrolled("n3"));
    for address in [one.address(), other.address()] {
        third.hub.connect(address);
    }
    until("who is new finds both", || third.hub.has_links(2));
    assert!(service.folder.with(|authority| authority.finish_rotation(false)).is_err(), "n2 is not there yet");
    assert!(refresh(&mut b, &other.hub));
    service.folder.with(|authority| authority.finish_rotation(false)).unwrap();
    let trust = look_after(&service.address(), &a).unwrap().0;
    assert_eq!(trust.authority_pem.matches("BEGIN CERTIFICATE").count(), 1);
    let up = |node: &TestNode| node.hub.status().iter().filter(|link| link.up).count();
    assert_eq!((up(&one), up(&other), up(&third)), (2, 2, 2), "nobody lost a link");
}

/// Says one line to the service, as anybody can. Returns the connection.
fn say(service: &Service, question: &serde_json::Value) -> impl std::io::Read + use<> {
    use std::io::Write;

    use rustls::pki_types::pem::PemObject;
    use rustls::pki_types::{CertificateDer, ServerName};
    let pem = service.folder.with(|authority| Ok(authority.certificates_pem())).unwrap();
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(pem.as_bytes()).unwrap()).unwrap();
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from("ca.whimbrel").unwrap();
    let connection = rustls::ClientConnection::new(std::sync::Arc::new(config), name).unwrap();
    let socket = std::net::TcpStream::connect(service.service.address()).unwrap();
    let mut stream = rustls::StreamOwned::new(connection, socket);
    stream.write_all(format!("{question}\n").as_bytes()).unwrap();
    stream
}

/// Returns the service's answer; null if it cuts the connection off.
fn ask(service: &Service, question: &serde_json::Value) -> serde_json::Value {
    use std::io::{BufRead, BufReader};
    let mut answer = String::new();
    let _ = BufReader::new(say(service, question)).read_line(&mut answer);
    serde_json::from_str(&answer).unwrap_or_default()
}

/// Wrong tokens whose answers wait take no places of their address.
#[test]
fn guessing_does_not_block_enrolment() {
    let service = Service::start("guesses");
    let request = NodeKeys::generate().unwrap().request("n1").unwrap();
    let question = serde_json::json!({"enrol": {"token": "wrong", "request": request}});
    let guesses = WRONG_SECRETS_FREE as usize + 2 * ENROLMENTS_PER_ADDRESS_MAX;
    let mut waiting = Vec::new();
    for count in 1..=guesses as u64 {
        waiting.push(say(&service, &question));
        until("the guess is refused", || service.service.refusals().of(RefusalReason::BadToken) == count);
    }
    service.enrolled("n2");
    assert_eq!(service.service.refusals().of(RefusalReason::TooMany), 0);
}

#[test]
fn request_for_another_name_is_refused() {
    let service = Service::start("names");
    let token = service.token("n2");
    let enrol = |node: &str| {
        let request = NodeKeys::generate().unwrap().request(node).unwrap();
        ask(&service, &serde_json::json!({"enrol": {"token": token.to_string(), "request": request}}))
    };
    let why = "bad request for a certificate of n2: it names n1.node.whimbrel";
    assert_eq!(enrol("n1"), serde_json::json!({"refused": {"why": why}}));
    assert_eq!(service.service.refusals().of(RefusalReason::Impostor), 1);
    assert!(enrol("n2")["issued"]["certificate_pem"].is_string(), "the token was not used up");
    // Whoever shows no certificate renews none, and hears nothing.
    let request = NodeKeys::generate().unwrap().request("n2").unwrap();
    for question in [serde_json::json!({"renew": {"request": request}}), serde_json::json!({"trust": {}})] {
        let answer = ask(&service, &question);
        assert_eq!(answer["refused"]["why"], "no certificate of a node");
    }
    assert!(ask(&service, &serde_json::json!({"nonsense": 1})).is_null());
}
