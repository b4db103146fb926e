//! Which errors of connections are refusals, and for what reason: for the counters and the audit log.

use std::io;

use rustls::{AlertDescription, CertificateError, Error};
use whimbrel_platform::audit::RefusalReason;
use whimbrel_platform::link::LinkError;
use whimbrel_platform::session::{Code, Fault};

/// Why this node closed a connection that did not get as far as a link; `None` if the other end, or the network, did.
pub(crate) fn of_connection(error: &io::Error) -> Option<RefusalReason> {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<Error>()) {
        Some(error) => of_tls(error),
        None => (error.kind() == io::ErrorKind::InvalidData).then_some(RefusalReason::Malformed),
    }
}

pub(crate) fn of_tls(error: &Error) -> Option<RefusalReason> {
    match error {
        Error::InvalidCertificate(why) => Some(match why {
            CertificateError::Revoked => RefusalReason::Revoked,
            CertificateError::Expired
            | CertificateError::ExpiredContext { .. }
            | CertificateError::NotValidYet
            | CertificateError::NotValidYetContext { .. } => RefusalReason::Expired,
            _ => RefusalReason::BadCertificate,
        }),
        Error::NoCertificatesPresented => Some(RefusalReason::BadCertificate),
        // Whoever speaks no TLS, an old version of it, or another level's.
        Error::InvalidMessage(_)
        | Error::PeerIncompatible(_)
        | Error::NoApplicationProtocol
        | Error::AlertReceived(AlertDescription::NoApplicationProtocol | AlertDescription::ProtocolVersion) => {
            Some(RefusalReason::Downgrade)
        }
        Error::AlertReceived(_) => None,
        _ => Some(RefusalReason::Malformed),
    }
}

/// Why this node closed a connection of a link; `None` if that was no refusal.
pub(crate) fn of_link(error: &LinkError) -> Option<RefusalReason> {
    match error {
        LinkError::NotNext { .. } => Some(RefusalReason::Replayed),
        LinkError::BadToken => Some(RefusalReason::BadToken),
        LinkError::Impostor(_) => Some(RefusalReason::Impostor),
        LinkError::TooManyNames => Some(RefusalReason::TooMany),
        LinkError::Frame(_)
        | LinkError::Batch(_)
        | LinkError::OutOfTurn(_)
        | LinkError::BadAck { .. }
        | LinkError::OverCredit(_)
        | LinkError::Version(_)
        | LinkError::OtherPlatform(_) => Some(RefusalReason::Malformed),
        _ => None,
    }
}

/// Why this node closed a connection of a session; `None` if that was no refusal.
pub(crate) fn of_fault(fault: &Fault) -> Option<RefusalReason> {
    match fault.code {
        Code::Unauthorised | Code::SessionGone => Some(RefusalReason::BadToken),
        Code::Protocol | Code::Version | Code::TooLong | Code::OverCredit => Some(RefusalReason::Malformed),
        Code::Busy | Code::TooManyNames => Some(RefusalReason::TooMany),
        _ => None,
    }
}
