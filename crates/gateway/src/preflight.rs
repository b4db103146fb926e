//! What browsers ask before a page of another origin may send what a form could not send (Fetch Standard, 4.8, CORS-preflight fetch).
//! That the origin is let in is known by then.

use axum::body::Body;
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD,
    HeaderMap, HeaderName, HeaderValue,
};
use axum::http::{Method, Request, Response, StatusCode};
use whimbrel_platform::limits::HTTP_PREFLIGHT_KEPT_S;

/// Asked by browsers whose page is in a wider network than this node (Private Network Access, 4.1).
const REQUEST_PRIVATE: HeaderName = HeaderName::from_static("access-control-request-private-network");
const ALLOW_PRIVATE: HeaderName = HeaderName::from_static("access-control-allow-private-network");

/// Whether a request asks no more than whether another one would be let in.
pub(crate) fn is_one(request: &Request<Body>) -> bool {
    request.method() == Method::OPTIONS && request.headers().contains_key(ACCESS_CONTROL_REQUEST_METHOD)
}

/// What such a request is answered. Tokens are shown in a header, so nothing is let in by this that is not let in without.
pub(crate) fn answer(asked: &HeaderMap) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let headers = response.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, HEAD, POST, DELETE"));
    headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static("authorization, content-type"));
    headers.insert(ACCESS_CONTROL_MAX_AGE, HTTP_PREFLIGHT_KEPT_S.into());
    if asked.contains_key(REQUEST_PRIVATE) {
        headers.insert(ALLOW_PRIVATE, HeaderValue::from_static("true"));
    }
    response
}
