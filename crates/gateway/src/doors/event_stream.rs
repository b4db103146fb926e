//! Answers of doors: JSON, and streams of events.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName};
use axum::http::{HeaderValue, Response, StatusCode};
use futures_util::Stream;

/// Header that keeps proxies from holding events back.
const BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");
/// Comment that keeps an idle stream open.
pub(super) const STILL_HERE: Bytes = Bytes::from_static(b": still here\n\n");

/// Returns JSON as an answer.
pub(super) fn json_answer(status: StatusCode, bytes: Vec<u8>) -> Response<Body> {
    let mut response = Response::new(Body::from(bytes));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// Returns an event with this data.
pub(super) fn event(data: &serde_json::Value) -> Bytes {
    let data = serde_json::to_vec(data).unwrap_or_default();
    [b"event: message\ndata: ", data.as_slice(), b"\n\n"].concat().into()
}

/// Returns a stream of events as an answer.
pub(super) fn event_stream(events: impl Stream<Item = Result<Bytes, Infallible>> + Send + 'static) -> Response<Body> {
    let mut response = Response::new(Body::from_stream(events));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(BUFFERING, HeaderValue::from_static("no"));
    response
}

/// Returns a duration of milliseconds.
pub(super) const fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}
