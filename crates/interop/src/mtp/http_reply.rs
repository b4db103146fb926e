//! Answer of another platform to a POST, as far as a sender needs it: its status, and where it ends.
//!
//! JADE's answers have no length although the connection stays open; they end with `</html>` and a line end. Feed
//! [`HttpReply::read`] with all bytes so far until it returns the status.

use whimbrel_platform::limits::MTP_ANSWER_BYTES_MAX;

/// Complete answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HttpReply {
    /// Status, 200 if the message was accepted.
    pub status: u16,
    /// True if the connection may be used for the next POST.
    pub is_kept: bool,
    /// Bytes of the answer.
    pub length: usize,
}

/// Bytes that are no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HttpReplyError {
    /// Bytes that do not begin as an answer does.
    #[error("the answer is not HTTP/1")]
    NotHttp,
    /// Answer that exceeds [`MTP_ANSWER_BYTES_MAX`].
    #[error("the answer is longer than {MTP_ANSWER_BYTES_MAX} bytes")]
    TooLong,
    /// Connection that was closed before the end of the answer's head.
    #[error("the connection was closed without an answer")]
    Closed,
}

/// Form in which the end of a body shows.
enum BodyEnd {
    Length(usize),
    Chunked,
    /// The end of JADE's page, or of the connection.
    Page,
}

impl HttpReply {
    /// Reads an answer from the bytes that have come so far; `None` if it is not complete. `is_closed` says that no
    /// more will come.
    ///
    /// # Errors
    /// The bytes are no answer, or too many.
    pub fn read(bytes: &[u8], is_closed: bool) -> Result<Option<Self>, HttpReplyError> {
        let Some(head_end) = bytes.windows(4).position(|end| end == b"\r\n\r\n").map(|at| at + 4) else {
            return match (is_closed, bytes.len() > MTP_ANSWER_BYTES_MAX) {
                (true, _) => Err(HttpReplyError::Closed),
                (_, true) => Err(HttpReplyError::TooLong),
                _ => Ok(None),
            };
        };
        let (head, body) = bytes.split_at_checked(head_end).unwrap_or((bytes, &[]));
        let head = std::str::from_utf8(head).map_err(|_| HttpReplyError::NotHttp)?;
        let status = status_of(head).ok_or(HttpReplyError::NotHttp)?;
        if status == 100 {
            // What counts comes after it.
            return Ok(Self::read(body, is_closed)?.map(|reply| Self { length: reply.length + head_end, ..reply }));
        }
        let says = |name: &str, value: &str| headers(head, name).any(|text| text.eq_ignore_ascii_case(value));
        let may_keep =
            !says("connection", "close") && (head.starts_with("HTTP/1.1") || says("connection", "keep-alive"));
        let end = match body_end(head) {
            _ if matches!(status, 204 | 304) => Some(0),
            BodyEnd::Length(length) => (body.len() >= length).then_some(length),
            BodyEnd::Chunked => end_of_chunks(body),
            // Without a length, the end of the connection is the end of the body, unless the sender keeps it open.
            BodyEnd::Page if may_keep => end_of_page(body),
            BodyEnd::Page => Some(body.len()),
        };
        match end {
            Some(length) => {
                let is_kept = may_keep && !is_closed && body.len() == length;
                Ok(Some(Self { status, is_kept, length: head_end + length }))
            }
            // The status is known; the rest is for people.
            None if is_closed => Ok(Some(Self { status, is_kept: false, length: bytes.len() })),
            None if bytes.len() > MTP_ANSWER_BYTES_MAX => Err(HttpReplyError::TooLong),
            None => Ok(None),
        }
    }
}

fn status_of(head: &str) -> Option<u16> {
    let mut words = head.lines().next()?.split_ascii_whitespace();
    words.next().filter(|version| version.starts_with("HTTP/1."))?;
    words.next()?.parse().ok()
}

fn headers<'a>(head: &'a str, name: &'a str) -> impl Iterator<Item = &'a str> {
    let named = move |line: &'a str| {
        let (key, value) = line.split_once(':')?;
        key.trim().eq_ignore_ascii_case(name).then(|| value.trim())
    };
    head.lines().skip(1).filter_map(named)
}

fn body_end(head: &str) -> BodyEnd {
    if headers(head, "transfer-encoding").any(|text| text.eq_ignore_ascii_case("chunked")) {
        return BodyEnd::Chunked;
    }
    match headers(head, "content-length").find_map(|text| text.parse().ok()) {
        Some(length) => BodyEnd::Length(length),
        None => BodyEnd::Page,
    }
}

/// Returns the length of a chunked body, if its end has come.
fn end_of_chunks(body: &[u8]) -> Option<usize> {
    let mut at = 0_usize;
    loop {
        let rest = body.get(at..)?;
        let line = rest.windows(2).position(|end| end == b"\r\n")?;
        let size = std::str::from_utf8(rest.get(..line)?).ok()?.split(';').next()?.trim();
        let size = usize::from_str_radix(size, 16).ok()?;
        at = at.checked_add(line + 2)?.checked_add(size)?.checked_add(2)?;
        if size == 0 {
            return (body.len() >= at).then_some(at);
        }
    }
}

/// Returns the length of JADE's page, if its end has come.
fn end_of_page(body: &[u8]) -> Option<usize> {
    let end = b"</html>\r\n";
    body.windows(end.len()).position(|bytes| bytes.eq_ignore_ascii_case(end)).map(|at| at + end.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    const JADE: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nCache-Control: no-cache\r\n\
                          Connection: Keep-Alive\r\n\r\n<html><body><h1>200 OK</h1></body></html>\r\n";

    #[test]
    fn jade_answer_ends_with_its_page() {
        for cut in 0..JADE.len() {
            assert_eq!(HttpReply::read(&JADE[..cut], false), Ok(None), "{cut}");
        }
        let reply = HttpReply { status: 200, is_kept: true, length: JADE.len() };
        assert_eq!(HttpReply::read(JADE, false), Ok(Some(reply)));
        let cut = HttpReply { status: 200, is_kept: false, length: JADE.len() - 3 };
        assert_eq!(HttpReply::read(&JADE[..JADE.len() - 3], true), Ok(Some(cut)));
    }

    #[test]
    fn other_answers_end_as_they_say() {
        for (answer, status, is_kept) in [
            ("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", 200, true),
            ("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", 200, true),
            ("HTTP/1.0 200 OK\r\n\r\n", 200, false),
            ("HTTP/1.1 406 Not Acceptable\r\nConnection: close\r\n\r\n<html>", 406, false),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", 200, true),
        ] {
            let reply = HttpReply { status, is_kept, length: answer.len() };
            assert_eq!(HttpReply::read(answer.as_bytes(), false), Ok(Some(reply)), "{answer}");
        }
        assert_eq!(HttpReply::read(b"SSH-2.0\r\n\r\n", false), Err(HttpReplyError::NotHttp));
        assert_eq!(HttpReply::read(b"HTTP/1.1 200", true), Err(HttpReplyError::Closed));
        let chunks = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n";
        assert_eq!(HttpReply::read(chunks, false), Ok(None));
        assert_eq!(HttpReply::read(&vec![b'x'; MTP_ANSWER_BYTES_MAX + 1], false), Err(HttpReplyError::TooLong));
    }
}
