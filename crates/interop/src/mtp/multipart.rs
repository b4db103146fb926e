//! Body of a POST between platforms: `multipart/mixed` with two parts, envelope and message (FIPA00084).
//!
//! The reader takes what platforms are known to send: LF or CRLF, a boundary with or without quotes or none said at
//! all, `multipart-mixed`, parts without headers. The writer writes only what JADE reads.

use std::borrow::Cow;

/// Parts of a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Multipart<'a> {
    /// Envelope, in XML.
    pub envelope: &'a [u8],
    /// Message.
    pub payload: &'a [u8],
    /// Character set in the `Content-Type` of the message's part.
    pub charset: Option<String>,
}

/// Body that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MultipartError {
    /// Content of another type.
    #[error("expected Content-Type: multipart/mixed; boundary=\"...\"")]
    ContentType,
    /// Body without the line that begins a part.
    #[error("expected a line with the boundary, and the envelope after it")]
    NoBoundary,
    /// Number of parts other than two.
    #[error("expected two parts, envelope and message, and the closing boundary")]
    Parts,
}

/// Reads a body.
///
/// # Errors
/// The body does not have two parts.
//= fipa00084 2.2
pub fn read_multipart<'a>(content_type: &str, body: &'a [u8]) -> Result<Multipart<'a>, MultipartError> {
    let boundary = boundary_of(content_type)?;
    let boundary = boundary.map_or_else(|| first_boundary(body), |said| Some(Cow::Owned(said.into_bytes())));
    let boundary = boundary.filter(|boundary| !boundary.is_empty()).ok_or(MultipartError::NoBoundary)?;
    let (mut parts, mut begun, mut at) = (Vec::new(), None, 0);
    for line in body.split_inclusive(|byte| *byte == b'\n') {
        if let Some(is_last) = delimiter(line, &boundary) {
            if let Some(from) = begun {
                parts.push(body.get(from..at).unwrap_or_default());
            }
            begun = Some(at + line.len());
            if is_last || parts.len() == 2 {
                break;
            }
        }
        at += line.len();
    }
    match (parts.as_slice(), begun) {
        ([], None) => Err(MultipartError::NoBoundary),
        ([envelope, payload], _) => {
            let (_, envelope) = split_part(envelope);
            let (head, payload) = split_part(payload);
            let charset = head.as_deref().and_then(charset_of);
            Ok(Multipart { envelope: without_line_end(envelope), payload: without_line_end(payload), charset })
        }
        _ => Err(MultipartError::Parts),
    }
}

/// Returns the boundary that a content type names, if it names one.
fn boundary_of(content_type: &str) -> Result<Option<String>, MultipartError> {
    let (kind, parameters) = content_type.split_once(';').unwrap_or((content_type, ""));
    let kind = kind.trim();
    if !kind.eq_ignore_ascii_case("multipart/mixed") && !kind.eq_ignore_ascii_case("multipart-mixed") {
        return Err(MultipartError::ContentType);
    }
    Ok(parameter(parameters, "boundary"))
}

/// Returns a parameter of a content type: quoted, or up to a semicolon or space.
fn parameter(parameters: &str, name: &str) -> Option<String> {
    let mut rest = parameters;
    loop {
        let (key, value) = rest.split_once('=')?;
        let (key, value) = (key.trim_matches([' ', '\t', ';', '\r', '\n']), value.trim_start());
        let (text, after) = match value.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"')?,
            None => value.split_once([';', ' ', '\t']).unwrap_or((value, "")),
        };
        if key.eq_ignore_ascii_case(name) {
            return Some(text.to_owned());
        }
        rest = after;
    }
}

/// Returns the boundary that the body itself shows: its first line that begins with two hyphens.
fn first_boundary(body: &[u8]) -> Option<Cow<'_, [u8]>> {
    let line = body.split(|byte| *byte == b'\n').find(|line| line.starts_with(b"--"))?;
    line.get(2..).map(|rest| Cow::Borrowed(rest.trim_ascii_end()))
}

/// Returns true for the closing line, false for one between parts, and `None` for any other line.
fn delimiter(line: &[u8], boundary: &[u8]) -> Option<bool> {
    let rest = line.strip_prefix(b"--")?.strip_prefix(boundary)?.trim_ascii_end();
    match rest {
        b"" => Some(false),
        b"--" => Some(true),
        _ => None,
    }
}

/// Splits a part into its headers, if it has any, and its content.
fn split_part(part: &[u8]) -> (Option<String>, &[u8]) {
    let mut at = 0;
    for line in part.split_inclusive(|byte| *byte == b'\n') {
        let text = line.trim_ascii();
        let is_header = text.first().is_some_and(u8::is_ascii_alphabetic) && text.contains(&b':');
        if !text.is_empty() && !is_header {
            // Content begins at once.
            break;
        }
        at += line.len();
        if text.is_empty() {
            let head = part.get(..at).filter(|head| !head.trim_ascii().is_empty());
            return (head.map(|head| String::from_utf8_lossy(head).into_owned()), part.get(at..).unwrap_or_default());
        }
    }
    (None, part)
}

fn charset_of(head: &str) -> Option<String> {
    let is_type = |line: &&str| line.get(..13).is_some_and(|name| name.eq_ignore_ascii_case("content-type:"));
    let (_, parameters) = head.lines().find(is_type)?.split_once(';')?;
    parameter(parameters, "charset")
}

/// Returns a part without the line end that belongs to the boundary after it.
fn without_line_end(part: &[u8]) -> &[u8] {
    let part = part.strip_suffix(b"\n").unwrap_or(part);
    part.strip_suffix(b"\r").unwrap_or(part)
}

/// Writes a body, and returns its content type and its bytes. `representation` names the message's encoding.
pub fn write_multipart(envelope: &[u8], payload: &[u8], representation: &str) -> (String, Vec<u8>) {
    let boundary = free_boundary(envelope, payload);
    let mut body = Vec::with_capacity(envelope.len() + payload.len() + 256);
    let mut put = |parts: &[&[u8]]| parts.iter().for_each(|part| body.extend_from_slice(part));
    let boundary_bytes = boundary.as_bytes();
    put(&[b"This is not part of the MIME multipart encoded message.\r\n--", boundary_bytes, b"\r\n"]);
    put(&[b"Content-Type: application/xml\r\n\r\n", envelope, b"\r\n--", boundary_bytes, b"\r\n"]);
    put(&[b"Content-Type: ", representation.as_bytes(), b"; charset=UTF-8\r\n\r\n", payload]);
    put(&[b"\r\n--", boundary_bytes, b"--\r\n"]);
    (format!("multipart/mixed ; boundary=\"{boundary}\""), body)
}

/// Returns a boundary with which no line of a part begins.
fn free_boundary(envelope: &[u8], payload: &[u8]) -> String {
    let is_free = |boundary: &str| {
        let begins = |line: &[u8]| line.strip_prefix(b"--").is_some_and(|rest| rest.starts_with(boundary.as_bytes()));
        ![envelope, payload].iter().any(|part| part.split(|byte| *byte == b'\n').any(begins))
    };
    let mut number = 0_u64;
    loop {
        let boundary = format!("whimbrel{number:016x}");
        if is_free(&boundary) {
            return boundary;
        }
        number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const JADE: &str = "multipart/mixed ; boundary=\"B\"";

    #[test]
    fn jade_body_is_read() {
        let body = b"This is not part\r\n--B\r\nContent-Type: application/xml\r\n\r\n<?xml?>\n<e/>\r\n--B\r\n\
                     Content-Type: fipa.acl.rep.string.std; charset=UTF-8\r\n\r\n(inform\r\n)\r\n--B--\r\n\r\n";
        let read = read_multipart(JADE, body).expect("two parts");
        assert_eq!((read.envelope, read.payload), (&b"<?xml?>\n<e/>"[..], &b"(inform\r\n)"[..]));
        assert_eq!(read.charset.as_deref(), Some("UTF-8"));
    }

    #[test]
    fn other_spellings_are_read() {
        let lf = b"--B\n\n<e/>\n--B\n(inform)\n--B--";
        for kind in ["multipart/mixed;boundary=B", "Multipart-Mixed; x=1; BOUNDARY=\"B\"", "multipart/mixed"] {
            let read = read_multipart(kind, lf).expect(kind);
            assert_eq!((read.envelope, read.payload, read.charset), (&b"<e/>"[..], &b"(inform)"[..], None));
        }
        let cut = b"--B\n\n<e/>\n--B\n(inform)\n--B\n\nmore\n--B--";
        assert!(read_multipart(JADE, cut).is_ok(), "further parts are ignored");
    }

    #[test]
    fn incomplete_body_is_refused() {
        for (kind, body, error) in [
            ("text/plain", "--B\n\n<e/>\n--B\n(inform)\n--B--", MultipartError::ContentType),
            (JADE, "", MultipartError::NoBoundary),
            (JADE, "--C\n\n<e/>\n--C--", MultipartError::NoBoundary),
            (JADE, "--B\n\n<e/>\n--B\n(inform)", MultipartError::Parts),
            (JADE, "--B\n\n<e/>\n--B--", MultipartError::Parts),
            ("multipart/mixed; boundary=\"\"", "--\n", MultipartError::NoBoundary),
        ] {
            assert_eq!(read_multipart(kind, body.as_bytes()), Err(error), "{kind} {body}");
        }
    }

    #[test]
    fn payload_with_boundary_survives() {
        let payload = format!("(inform :content \"\r\n--whimbrel{:016x}--\r\n\")", 0);
        let (kind, body) = write_multipart(b"<e/>", payload.as_bytes(), "fipa.acl.rep.string.std");
        let read = read_multipart(&kind, &body).expect("two parts");
        assert_eq!((read.envelope, read.payload), (&b"<e/>"[..], payload.as_bytes()));
    }
}
