//! Properties of bundles of evidence, for any bytes. The fuzz target looks for violations; a test of `whimbrel-net`
//! replays those that were found.

use std::sync::OnceLock;

use whimbrel_net::Trust;
use whimbrel_net::signing::EvidenceBundle;

/// Three messages of one conversation, as `whimbrel prove` wrote them.
const BUNDLE: &str = include_str!("../fixtures/bundle.json");

/// The authority of the platform that [`BUNDLE`] is from.
fn trust() -> &'static Trust {
    static TRUST: OnceLock<Trust> = OnceLock::new();
    TRUST.get_or_init(|| Trust {
        authority_pem: include_str!("../fixtures/authority.pem").to_owned(),
        revoked_pem: include_str!("../fixtures/revoked.pem").to_owned(),
    })
}

/// Checks that a bundle is refused, or proves only the facts of the signed one.
pub fn evidence_bundle(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(bundle) = EvidenceBundle::from_json(text) else { return };
    assert_eq!(EvidenceBundle::from_json(&bundle.to_json()).ok().as_ref(), Some(&bundle));
    let Ok(verified) = bundle.verify(trust()) else { return };
    let genuine =
        EvidenceBundle::from_json(BUNDLE).and_then(|bundle| bundle.verify(trust())).expect("this one is good");
    assert_eq!(verified.said.len(), bundle.len());
    for said in &verified.said {
        assert!(genuine.said.iter().any(|other| other.message == said.message && other.time_ms == said.time_ms));
    }
    assert!(!verified.to_string().is_empty() || verified.said.is_empty());
}

/// Seeds: bundles.
pub fn seeds() -> Vec<Vec<u8>> {
    vec![BUNDLE.as_bytes().to_vec()]
}
