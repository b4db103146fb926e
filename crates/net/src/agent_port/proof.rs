//! Proof of a certificate's key over connections whose encryption does not know the certificate, such as a browser's
//! WebSocket.

use std::io;

use ring::signature::{ECDSA_P256_SHA256_FIXED, ED25519, UnparsedPublicKey, VerificationAlgorithm};
use rustls::pki_types::CertificateDer;
use whimbrel_platform::audit::RefusalReason;
use whimbrel_platform::session::{ErrorCode, ErrorFrame};
use x509_parser::oid_registry::{OID_KEY_TYPE_EC_PUBLIC_KEY, OID_SIG_ED25519};
use x509_parser::prelude::{FromDer, X509Certificate};

use crate::refusal;
use crate::security::{Identity, Tls, certificates};

/// Rejection of a client: the fault that it is told, and the reason to count, if any.
pub(super) struct ClientRejection {
    pub fault: ErrorFrame,
    pub reason: Option<RefusalReason>,
}

impl ClientRejection {
    fn unproven(reason: RefusalReason, text: impl Into<String>) -> Self {
        Self { fault: ErrorFrame::new(ErrorCode::Unauthorised, text), reason: Some(reason) }
    }

    /// Makes the rejection of a client that said nothing, or something else.
    pub fn unheard(error: &io::Error) -> Self {
        let fault = ErrorFrame::new(ErrorCode::Protocol, format!("no proof of the certificate's key: {error}"));
        Self { fault, reason: refusal::of_connection(error) }
    }
}

impl From<ErrorFrame> for ClientRejection {
    fn from(fault: ErrorFrame) -> Self {
        Self { reason: refusal::of_fault(&fault), fault }
    }
}

/// Chain of the authority that lets its holder have an agent.
pub(super) struct ClientCertificate {
    pub chain: Vec<CertificateDer<'static>>,
    pub identity: Identity,
}

impl ClientCertificate {
    /// Checks a certificate. Its owner is not proved by that.
    ///
    /// # Errors
    /// The certificate has expired, was revoked, is not signed by the authority, or names no agent of a session.
    pub fn of(pem: &str, tls: Option<&Tls>) -> Result<Self, ClientRejection> {
        let bad = |text: &str| ClientRejection::unproven(RefusalReason::BadCertificate, text);
        let tls = tls.ok_or_else(|| bad("this node cannot check certificates: it has no credentials"))?;
        let chain = certificates(pem, "the certificate").map_err(|error| bad(&error.to_string()))?;
        if let Some(error) = tls.distrusts(&chain) {
            let reason = refusal::of_tls(&error).unwrap_or(RefusalReason::BadCertificate);
            return Err(ClientRejection::unproven(reason, format!("certificate not trusted: {error}")));
        }
        let identity =
            Identity::of_chain(&chain, &tls.authority).filter(|identity| identity.sessions().next().is_some());
        let identity = identity.ok_or_else(|| bad("the certificate names no agent"))?;
        Ok(Self { chain, identity })
    }

    /// Checks a signature with the certificate's key for this challenge, and for this node by one of its names.
    ///
    /// # Errors
    /// The signature is not valid.
    pub fn check(&self, places: &[String], challenge: &str, signature: &[u8]) -> Result<(), ClientRejection> {
        let is_for = |place: &String| {
            let said = statement(place, challenge);
            self.chain.first().is_some_and(|certificate| verifies(certificate, said.as_bytes(), signature))
        };
        if places.iter().any(is_for) {
            return Ok(());
        }
        let places = places.join(" or ");
        let text = format!("bad proof: not signed with the key of the certificate, or not for {places}");
        Err(ClientRejection::unproven(RefusalReason::BadCertificate, text))
    }
}

/// Returns the text that a client signs. The text names the node, so that another node cannot replay the signature
/// here.
pub(super) fn statement(place: &str, challenge: &str) -> String {
    format!("whimbrel session\n{}\n{challenge}", place.to_ascii_lowercase())
}

fn verifies(certificate: &CertificateDer<'_>, said: &[u8], signature: &[u8]) -> bool {
    let Ok((_, parsed)) = X509Certificate::from_der(certificate) else { return false };
    let key = parsed.public_key();
    // WebCrypto writes an ECDSA signature as two numbers, one after the other.
    let algorithm: &dyn VerificationAlgorithm = match &key.algorithm.algorithm {
        kind if *kind == OID_SIG_ED25519 => &ED25519,
        kind if *kind == OID_KEY_TYPE_EC_PUBLIC_KEY => &ECDSA_P256_SHA256_FIXED,
        _ => return false,
    };
    UnparsedPublicKey::new(algorithm, &key.subject_public_key.data).verify(said, signature).is_ok()
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;
    use std::task::{Context, Poll};
    use std::time::{Duration, Instant};

    use rcgen::KeyPair;
    use ring::rand::SystemRandom;
    use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair};
    use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
    use whimbrel_platform::connection_limit::ConnectionLimit;
    use whimbrel_platform::session::{FrameReader, FrameWriter, Framing, HelloFrame, ProofFrame, SessionFrame};

    use super::super::tests::{block_on, open};
    use super::super::{AgentPort, Messages};
    use super::*;
    use crate::security::{Credentials, LinkSecurity};
    use crate::{Authority, SessionCredentials};

    const PLACE: &str = "node.example:8420";
    /// Name of the node before a proxy.
    const PUBLIC: &str = "bees.example";

    /// WebSocket without a socket.
    struct FakeSocket {
        coming: UnboundedReceiver<Vec<u8>>,
        going: UnboundedSender<Vec<u8>>,
        places: Vec<String>,
    }

    impl Messages for FakeSocket {
        fn poll_message(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Option<Vec<u8>>>> {
            self.coming.poll_recv(cx).map(Ok)
        }

        fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn send(&mut self, message: Vec<u8>, _framing: Framing) -> io::Result<()> {
            self.going.send(message).map_err(|_| io::ErrorKind::BrokenPipe.into())
        }

        fn poll_flush(&mut self, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_close(&mut self, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn release(&mut self) {}

        fn places(&self) -> &[String] {
            &self.places
        }
    }

    /// Connects with a certificate, and answers the challenge.
    async fn ask(
        port: &AgentPort,
        framing: Framing,
        certificate: &str,
        answer: impl FnOnce(&str) -> SessionFrame,
    ) -> SessionFrame {
        let ((say, coming), (going, mut heard)) = (unbounded_channel(), unbounded_channel());
        let from = SocketAddr::from(([127, 0, 0, 1], 9));
        let places = [PLACE, PUBLIC].map(str::to_owned).to_vec();
        let place = ConnectionLimit::of(1, 1).enter(from.ip()).unwrap();
        port.threads().spawn(port.receive_messages(Box::new(FakeSocket { coming, going, places }), from, place));
        let (mut writer, mut reader) = (FrameWriter::new(framing, 0, 4096), FrameReader::new(framing, 0));
        let hello =
            HelloFrame { versions: vec![1], certificate: Some(certificate.to_owned()), ..HelloFrame::default() };
        let mut next = SessionFrame::Hello(hello);
        let mut answer = Some(answer);
        loop {
            let mut bytes = Vec::new();
            writer.write(&next, &mut bytes).unwrap();
            say.send(bytes).unwrap();
            match (reader.read(&heard.recv().await.unwrap()).unwrap(), answer.take()) {
                (SessionFrame::Challenge(challenge), Some(answer)) => next = answer(&challenge.text),
                (other, _) => return other,
            }
        }
    }

    fn signed(key_pem: &str, place: &str, challenge: &str) -> SessionFrame {
        let der = KeyPair::from_pem(key_pem).unwrap().serialize_der();
        let random = SystemRandom::new();
        let key = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &der, &random).unwrap();
        let signature = key.sign(&random, statement(place, challenge).as_bytes()).unwrap();
        SessionFrame::Proof(ProofFrame { signature: signature.as_ref().to_vec() })
    }

    /// Returns the refusal of a client with this certificate and this key.
    async fn refusal_of(port: &AgentPort, one: &SessionCredentials, key_pem: &str, place: &str) -> String {
        match ask(port, Framing::Json, &one.certificate_pem, |text| signed(key_pem, place, text)).await {
            SessionFrame::Error(fault) => {
                assert_eq!(fault.code, ErrorCode::Unauthorised);
                fault.text
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn proven_certificate_grants_its_agent() {
        let mut authority = Authority::create("home").unwrap();
        let port = open(LinkSecurity::Authenticated, Some(authority.issue("n1", &[], 1).unwrap()));
        let bob = authority.issue_session("bob", &[], 1).unwrap();
        let with_root = bob.certificate_pem.clone() + &bob.authority_pem;
        block_on(async {
            for (framing, certificate, place) in
                [(Framing::Json, &bob.certificate_pem, PLACE), (Framing::Compact, &with_root, PUBLIC)]
            {
                let told = ask(&port, framing, certificate, |text| signed(&bob.key_pem, place, text)).await;
                assert!(matches!(told, SessionFrame::Welcome(_)), "{told:?}");
            }
        });
        let all = port.status();
        assert!(all.len() == 2 && all.iter().all(|session| session.principal == "bob"), "{all:?}");
        assert_eq!(port.refusals().of(RefusalReason::BadCertificate), 0);
        port.close(Duration::from_secs(1));
    }

    #[test]
    fn bad_certificate_is_refused_with_reason() {
        let (mut authority, mut other) = (Authority::create("home").unwrap(), Authority::create("home").unwrap());
        let node = authority.issue("n1", &[], 1).unwrap();
        let [bob, ann, old] =
            [("bob", 1), ("ann", 1), ("old", 0)].map(|one| authority.issue_session(one.0, &[], one.1).unwrap());
        assert_eq!(authority.revoke("session:ann"), 1);
        let revoked_pem = authority.trust().unwrap().revoked_pem;
        let port = open(LinkSecurity::Authenticated, Some(Credentials { revoked_pem, ..node.clone() }));
        let eve = other.issue_session("bob", &[], 1).unwrap();
        let as_node = SessionCredentials { certificate_pem: node.certificate_pem.clone(), ..bob.clone() };
        let none = SessionCredentials { certificate_pem: "none".to_owned(), ..bob.clone() };
        // Its last second is over then.
        std::thread::sleep(Duration::from_millis(1_100));
        block_on(async {
            for (one, key, place, why) in [
                (&old, &old.key_pem, PLACE, "expired"),
                (&ann, &ann.key_pem, PLACE, "revoked"),
                (&eve, &eve.key_pem, PLACE, "invalid peer certificate"),
                (&bob, &eve.key_pem, PLACE, "not signed with the key"),
                (&bob, &bob.key_pem, "evil.example", "not for node.example:8420"),
                (&as_node, &node.key_pem, PLACE, "names no agent"),
                (&none, &bob.key_pem, PLACE, "cannot be read"),
            ] {
                let text = refusal_of(&port, one, key, place).await.to_lowercase();
                assert!(text.contains(why), "{why}: {text}");
            }
            // A signature of an earlier challenge is refused.
            let mut first = String::new();
            ask(&port, Framing::Json, &bob.certificate_pem, |text| {
                first = text.to_owned();
                signed(&bob.key_pem, PLACE, text)
            })
            .await;
            let again = ask(&port, Framing::Json, &bob.certificate_pem, |_| signed(&bob.key_pem, PLACE, &first)).await;
            assert!(matches!(again, SessionFrame::Error(fault) if fault.code == ErrorCode::Unauthorised));
            let late = ask(&port, Framing::Json, &bob.certificate_pem, |_| SessionFrame::Bye).await;
            assert!(matches!(late, SessionFrame::Error(fault) if fault.code == ErrorCode::Protocol));
        });
        let reasons =
            [RefusalReason::Expired, RefusalReason::Revoked, RefusalReason::BadCertificate, RefusalReason::Malformed];
        // Refusals are counted when their connections are closed.
        let until = Instant::now() + Duration::from_secs(20);
        while reasons.map(|reason| port.refusals().of(reason)) != [1, 1, 6, 1] {
            assert!(Instant::now() < until, "{:?}", reasons.map(|reason| port.refusals().of(reason)));
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(port.sessions(), 1);
        port.close(Duration::from_secs(1));
    }

    #[test]
    fn revocation_ends_proven_session() {
        let mut authority = Authority::create("home").unwrap();
        let node = authority.issue("n1", &[], 1).unwrap();
        let port = open(LinkSecurity::Authenticated, Some(node.clone()));
        let bob = authority.issue_session("bob", &[], 1).unwrap();
        block_on(async {
            ask(&port, Framing::Json, &bob.certificate_pem, |text| signed(&bob.key_pem, PLACE, text)).await;
            assert_eq!(authority.revoke("session:bob"), 1);
            let revoked_pem = authority.trust().unwrap().revoked_pem;
            port.set_credentials(&Credentials { revoked_pem, ..node }).unwrap();
            while port.sessions() > 0 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        });
        assert_eq!(port.refusals().of(RefusalReason::Revoked), 1);
        port.close(Duration::from_secs(1));
    }
}
