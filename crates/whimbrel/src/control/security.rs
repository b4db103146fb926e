//! What a node shows and trusts, and what it refused.

use whimbrel_gateway::vocabulary::{CertificateInfo, RefusalCount, RefusalsFound, RevokedInfo, SecurityInfo};
use whimbrel_net::{CertificateSeen, Certified, HubView};
use whimbrel_platform::limits::CERTIFICATES_TOLD_MAX;

use super::panel::Panel;

/// How the node is secured.
pub fn look(panel: &Panel) -> SecurityInfo {
    let Certified { certificates, revoked } =
        panel.hub().map(|hub| hub.certified(CERTIFICATES_TOLD_MAX)).unwrap_or_default();
    let counts = panel.refusals.counts().into_iter().filter(|(_, count)| *count > 0);
    SecurityInfo {
        level: panel.hub().map(HubView::level).map(|level| format!("{level:?}").to_lowercase()),
        certificates: certificates.into_iter().map(certificate).collect(),
        revoked: revoked.into_iter().map(|one| RevokedInfo { serial: one.serial, at_ms: one.at_ms }).collect(),
        refusals: counts.map(|(reason, count)| RefusalCount { reason: reason.to_owned(), count }).collect(),
        audit: panel.refusals.file().map(|file| file.display().to_string()),
    }
}

fn certificate(seen: CertificateSeen) -> CertificateInfo {
    let CertificateSeen { of, subject, issuer, serial, from_ms, until_ms, is_revoked, .. } = seen;
    CertificateInfo { of: of.as_str().to_owned(), subject, issuer, serial, from_ms, until_ms, revoked: is_revoked }
}

/// What it refused lately.
pub fn refusals(panel: &Panel, limit: usize) -> RefusalsFound {
    let total = panel.refusals.counts().into_iter().map(|(_, count)| count).sum();
    RefusalsFound { refusals: panel.refusals.newest(panel.node(), limit), total }
}
