//! Preflight requests of browsers: a page of another origin asks for permission to send more than a form could send
//! (Fetch Standard, 4.8, CORS-preflight fetch). The origin has been accepted before.

use axum::body::Body;
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD,
    HeaderMap, HeaderName, HeaderValue,
};
use axum::http::{Method, Request, Response, StatusCode};
use whimbrel_platform::limits::HTTP_PREFLIGHT_KEPT_S;

/// Header of browsers whose page is in a wider network than this node (Private Network Access, 4.1).
const REQUEST_PRIVATE: HeaderName = HeaderName::from_static("access-control-request-private-network");
const ALLOW_PRIVATE: HeaderName = HeaderName::from_static("access-control-allow-private-network");

/// Headers that pages of other origins may send.
const ALLOWED: &str = "authorization, content-type, a2a-version, a2a-extensions, \
                       mcp-protocol-version, mcp-method, mcp-name, mcp-session-id";

/// Returns true for a preflight request.
pub(crate) fn is_one(request: &Request<Body>) -> bool {
    request.method() == Method::OPTIONS && request.headers().contains_key(ACCESS_CONTROL_REQUEST_METHOD)
}

/// Answers a preflight request. Tokens travel in a header, so the answer grants nothing by itself.
pub(crate) fn answer(asked: &HeaderMap) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let headers = response.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, HEAD, POST, DELETE"));
    headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static(ALLOWED));
    headers.insert(ACCESS_CONTROL_MAX_AGE, HTTP_PREFLIGHT_KEPT_S.into());
    if asked.contains_key(REQUEST_PRIVATE) {
        headers.insert(ALLOW_PRIVATE, HeaderValue::from_static("true"));
    }
    response
}
