//! Credentials, trust and refusals of a node.

use whimbrel_net::{AuditLine, AuditReadError, CertificateSeen, Certified, HubView, read_back};
use whimbrel_operator::{
    AuditFound, CertificateInfo, Happening, NodeEvent, Reason, Refusal, RefusalCount, RefusalsFound, RevokedInfo,
    SecurityInfo,
};
use whimbrel_platform::audit::Outcome;
use whimbrel_platform::limits::{AUDIT_PAGE_MAX, CERTIFICATES_TOLD_MAX};

use super::operator_service::OperatorService;

/// Returns the security settings of the node.
pub fn look(service: &OperatorService) -> SecurityInfo {
    let Certified { certificates, revoked } =
        service.hub().map(|hub| hub.certified(CERTIFICATES_TOLD_MAX)).unwrap_or_default();
    let counts = service.refusals.counts().into_iter().filter(|(_, count)| *count > 0);
    SecurityInfo {
        level: service.hub().map(HubView::level).map(|level| format!("{level:?}").to_lowercase()),
        certificates: certificates.into_iter().map(certificate).collect(),
        revoked: revoked.into_iter().map(|one| RevokedInfo { serial: one.serial, at_ms: one.at_ms }).collect(),
        refusals: counts.map(|(reason, count)| RefusalCount { reason: reason.to_owned(), count }).collect(),
        audit: service.refusals.file().map(|file| file.display().to_string()),
    }
}

fn certificate(seen: CertificateSeen) -> CertificateInfo {
    let CertificateSeen { of, subject, issuer, serial, from_ms, until_ms, is_revoked, .. } = seen;
    CertificateInfo { of: of.as_str().to_owned(), subject, issuer, serial, from_ms, until_ms, revoked: is_revoked }
}

/// Returns the newest refusals of the node.
pub fn refusals(service: &OperatorService, limit: usize) -> RefusalsFound {
    let total = service.refusals.counts().into_iter().map(|(_, count)| count).sum();
    RefusalsFound { refusals: service.refusals.newest(service.node(), limit), total }
}

/// Returns a page of the node's audit log: the newest entries, or those before a cursor of an earlier answer.
///
/// # Errors
/// It keeps none, or it cannot be read there.
pub fn audit(service: &OperatorService, before: Option<&str>, limit: usize) -> Result<AuditFound, Refusal> {
    let none = || Refusal::new(Reason::NoLog, "this node keeps no audit log: run it with --audit FILE");
    let path = service.refusals.file().ok_or_else(none)?;
    let page = read_back(path, before, limit.clamp(1, AUDIT_PAGE_MAX)).map_err(|error| {
        let reason = if matches!(error, AuditReadError::BadCursor) { Reason::BadCursor } else { Reason::BadState };
        Refusal::new(reason, error.to_string())
    })?;
    let event = |line: AuditLine| {
        let (at_us, node) = (1_000 * line.at_ms(), service.node().to_owned());
        let sentence = line.sentence();
        let AuditLine { reason, who, from, action, object, detail: text, count, .. } = line;
        let what = match reason == Outcome::Allowed.as_str() {
            true => Happening::Allowed { who, from, action: action.unwrap_or_default(), object, text, sentence, count },
            false => Happening::Refused { reason, who, action, object, text, sentence, count },
        };
        NodeEvent { at_us, node, what }
    };
    Ok(AuditFound { refusals: page.lines.into_iter().map(event).collect(), next: page.next })
}
