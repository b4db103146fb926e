//! Refusals among the errors of connections, with their reasons, for the counters and the audit log.

use std::io;

use rustls::{AlertDescription, CertificateError, Error};
use whimbrel_platform::audit::RefusalReason;
use whimbrel_platform::link::LinkError;
use whimbrel_platform::session::{ErrorCode, ErrorFrame};

/// Returns the reason for which this node closed a connection before it became a link; `None` if the other end or the
/// network closed it.
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
        // The peer speaks no TLS, an old version of it, or that of another level.
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

/// Returns the reason why the other end can be no node to link with, if a connection failed for that.
pub(crate) fn of_no_node(error: &io::Error) -> Option<String> {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<Error>())? {
        Error::InvalidMessage(_) => Some("the other end does not speak TLS".to_owned()),
        Error::InvalidCertificate(CertificateError::BadSignature | CertificateError::UnknownIssuer) => {
            Some("the other end has a certificate of another authority".to_owned())
        }
        Error::AlertReceived(alert) => Some(format!("the other end refuses the handshake: {alert:?}")),
        error => Some(format!("the other end is not trusted: {error}")),
    }
}

/// Protocol of a client at the wrong port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ForeignProtocol {
    Json,
    Tls,
    Http,
}

impl ForeignProtocol {
    /// Returns the protocol that a connection's first bytes look like.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        match bytes.first_chunk::<4>()? {
            [b'{' | b'[', ..] => Some(Self::Json),
            // RFC 8446 5.1: a record's kind, and the version that all of them name.
            [0x14..=0x17, 3, ..] => Some(Self::Tls),
            word => word.iter().all(|byte| byte.is_ascii_uppercase() || *byte == b' ').then_some(Self::Http),
        }
    }
}

/// Returns the reason why the first bytes of a connection to the link port are no node's, if it is known.
pub(crate) fn of_first_bytes(bytes: &[u8]) -> Option<&'static str> {
    Some(match ForeignProtocol::of(bytes)? {
        ForeignProtocol::Json => "these bytes look like JSON: programs connect to the agent port (--agent-port)",
        ForeignProtocol::Tls => {
            "these bytes look like TLS, which this port does not speak (start the node with --security and --credentials)"
        }
        ForeignProtocol::Http => "these bytes look like HTTP: browsers connect to the HTTP port (--http)",
    })
}

/// Maximal number of received characters that an error shows.
const SHOWN_CHARS: usize = 60;

/// Returns the reason why the first bytes of a connection are no node's; `None` if nothing arrived.
pub(crate) fn of_answer(bytes: &[u8]) -> Option<String> {
    match bytes {
        [] => None,
        // RFC 8446 5.1: a record's kind, and the version that all of them name.
        [0x14..=0x17, 3, ..] => Some("the other end speaks TLS (use --security and --credentials)".to_owned()),
        _ => {
            let text = String::from_utf8_lossy(bytes.get(..4 * SHOWN_CHARS).unwrap_or(bytes));
            let line: String = text.lines().next().unwrap_or_default().chars().take(SHOWN_CHARS).collect();
            Some(format!("the other end answers {line:?}"))
        }
    }
}

/// Returns the reason for which this node closed a connection of a link; `None` if that was no refusal.
pub(crate) fn of_link(error: &LinkError) -> Option<RefusalReason> {
    match error {
        LinkError::NotNext { .. } => Some(RefusalReason::Replayed),
        LinkError::BadToken => Some(RefusalReason::BadToken),
        LinkError::Impostor(_) | LinkError::NameTaken(_) => Some(RefusalReason::Impostor),
        LinkError::TooManyNames(_) => Some(RefusalReason::TooMany),
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

/// Returns the reason for which this node closed a connection of a session; `None` if that was no refusal.
pub(crate) fn of_fault(fault: &ErrorFrame) -> Option<RefusalReason> {
    match fault.code {
        ErrorCode::Unauthorised | ErrorCode::SessionGone => Some(RefusalReason::BadToken),
        ErrorCode::Protocol | ErrorCode::Version | ErrorCode::TooLong | ErrorCode::OverCredit => {
            Some(RefusalReason::Malformed)
        }
        ErrorCode::Busy | ErrorCode::TooManyNames => Some(RefusalReason::TooMany),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_bytes_reveal_foreign_protocols() {
        assert_eq!(ForeignProtocol::of(b"{\"type\":\"hello\""), Some(ForeignProtocol::Json));
        assert_eq!(ForeignProtocol::of(b"GET / HTTP/1.1"), Some(ForeignProtocol::Http));
        assert_eq!(ForeignProtocol::of(&[0x16, 3, 1, 2, 0]), Some(ForeignProtocol::Tls));
        assert_eq!([&[0, 0x20, 0, 0][..], &[24, 1, 2, 3], b"GE"].map(ForeignProtocol::of), [None; 3]);
    }

    #[test]
    fn foreign_answer_is_shown() {
        assert_eq!(of_answer(b""), None);
        let http = of_answer(b"HTTP/1.1 400 Bad Request\r\nServer: x\r\n\r\n").unwrap();
        assert_eq!(http, "the other end answers \"HTTP/1.1 400 Bad Request\"");
        assert!(of_answer(&[0x15, 3, 3, 0, 2, 2, 50]).unwrap().contains("speaks TLS"));
        assert!(of_answer(&[0xff; 1_000]).unwrap().chars().count() < 100);
    }
}
