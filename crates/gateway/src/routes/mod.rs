//! Routes, and the headers of all answers.

mod acts;
mod asked;
mod looks;
mod openapi;
mod sockets;
mod table;

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{DefaultBodyLimit, FromRequestParts};
use axum::http::header::{self, HeaderName, HeaderValue};
use axum::http::request::Parts;
use axum::http::{Method, Response, StatusCode, Uri};
use axum::response::{IntoResponse, Redirect};
use serde::Serialize;
use whimbrel_platform::audit::RefusalReason;
use whimbrel_platform::limits::HTTP_BODY_BYTES_MAX;

use crate::access::Role;
use crate::console;
use crate::doors;
use crate::server::{ClientAddress, TokenRole};
use crate::shared::GatewayState;
use crate::visitors::VisitorPlace;
use whimbrel_operator::{Answer, Reason, Refusal};

/// The state of all routes.
pub(crate) type State = axum::extract::State<Arc<GatewayState>>;

/// Makes the router of all routes in the table.
pub(crate) fn router(shared: Arc<GatewayState>) -> Router {
    let routed =
        table::routes().into_iter().fold(Router::new(), |router, route| router.route(route.path, route.handler));
    routed
        .merge(doors::a2a::routes())
        .merge(doors::mcp::routes())
        .method_not_allowed_fallback(otherwise)
        .fallback(elsewhere)
        .layer(DefaultBodyLimit::max(HTTP_BODY_BYTES_MAX))
        .with_state(shared)
}

/// Answers a path without a route: the login link of a browser, a file of the console, or nothing.
async fn elsewhere(shared: State, method: Method, uri: Uri, headers: header::HeaderMap) -> Response<Body> {
    let path = uri.path();
    if method == Method::GET
        && let Some(target) = shared.introduced(path)
    {
        return Redirect::to(&target).into_response();
    }
    let is_console = !path.starts_with("/api/") && matches!(method, Method::GET | Method::HEAD);
    let file = if is_console { console::file(path, &headers) } else { None };
    file.unwrap_or_else(|| {
        refused(&Refusal::new(
            Reason::NoSuchPath,
            format!(
                "there is nothing at {}: /api/v1/openapi.json lists all paths",
                path.chars().take(100).collect::<String>()
            ),
        ))
    })
}

/// Refuses a method that the route does not have.
async fn otherwise(method: Method) -> Response<Body> {
    let mut response = refused(&Refusal::new(Reason::BadRequest, format!("this path does not support {method}")));
    *response.status_mut() = StatusCode::METHOD_NOT_ALLOWED;
    response
}

/// Adds the headers of all answers: rules for browsers, and for an accepted foreign origin the permission to read.
pub(crate) fn guarded(mut response: Response<Body>, foreign: Option<&str>) -> Response<Body> {
    const GUARDS: [(HeaderName, &str); 4] = [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::CONTENT_SECURITY_POLICY, console::POLICY),
    ];
    let headers = response.headers_mut();
    for (name, value) in GUARDS {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    if let Some(Ok(origin)) = foreign.map(HeaderValue::from_str) {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(header::VARY, HeaderValue::from_static("origin"));
    }
    response
}

/// Encodes a refusal as HTTP.
pub(crate) fn refused(refusal: &Refusal) -> Response<Body> {
    let status = match refusal.reason {
        Reason::BadRequest | Reason::BadCursor | Reason::BadJob => StatusCode::BAD_REQUEST,
        Reason::Unauthorised => StatusCode::UNAUTHORIZED,
        Reason::NotAllowed => StatusCode::FORBIDDEN,
        Reason::NoSuchAgent | Reason::NoSuchNode | Reason::NoSuchPath | Reason::NoLog => StatusCode::NOT_FOUND,
        Reason::Elsewhere | Reason::BadState => StatusCode::CONFLICT,
        Reason::Busy => StatusCode::SERVICE_UNAVAILABLE,
        Reason::NoAnswer => StatusCode::GATEWAY_TIMEOUT,
    };
    let mut response = json(status, refusal);
    if status == StatusCode::UNAUTHORIZED {
        response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    response
}

/// Encodes a node's answer as HTTP.
fn answered(answer: &Answer) -> Response<Body> {
    match answer {
        Answer::Error(refusal) => refused(refusal),
        answer => json(StatusCode::OK, answer),
    }
}

/// Encodes a value in JSON as HTTP. `axum::Json` writes JSON to a buffer of another type than the rest of this crate:
/// all that a node answers would be compiled a second time.
fn json(status: StatusCode, value: &impl Serialize) -> Response<Body> {
    match serde_json::to_vec(value) {
        Ok(bytes) => {
            (status, [(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))], bytes).into_response()
        }
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

/// Refusal of a request before its handler runs.
pub struct RejectedRequest(pub Refusal);

impl IntoResponse for RejectedRequest {
    fn into_response(self) -> Response<Body> {
        refused(&self.0)
    }
}

/// Client that may look.
pub(crate) struct Viewer;

/// Administrator at this address.
pub(crate) struct Admin(pub IpAddr);

impl FromRequestParts<Arc<GatewayState>> for Viewer {
    type Rejection = RejectedRequest;

    async fn from_request_parts(parts: &mut Parts, shared: &Arc<GatewayState>) -> Result<Self, Self::Rejection> {
        require(Role::Viewer, parts, shared).await.map(|_| Self)
    }
}

impl FromRequestParts<Arc<GatewayState>> for Admin {
    type Rejection = RejectedRequest;

    async fn from_request_parts(parts: &mut Parts, shared: &Arc<GatewayState>) -> Result<Self, Self::Rejection> {
        require(Role::Admin, parts, shared).await.map(Self)
    }
}

/// Returns the client's address, if its token permits this. Otherwise the answer waits, the longer the more wrong
/// tokens came from that address.
async fn require(role: Role, parts: &Parts, shared: &GatewayState) -> Result<IpAddr, RejectedRequest> {
    let shown = parts.extensions.get::<TokenRole>().and_then(|shown| shown.0);
    let from = parts
        .extensions
        .get::<ClientAddress>()
        .map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |ClientAddress(from)| from.ip());
    if shown.is_some_and(|shown| shown >= role) {
        return Ok(from);
    }
    let wanted = format!("{} {}", parts.method, parts.uri.path());
    if shown.is_some() {
        shared.refuse_viewer(from, &wanted);
        return Err(RejectedRequest(Refusal::new(Reason::NotAllowed, "viewer's token: acts need an administrator's")));
    }
    shared.refuse(RefusalReason::BadToken, from, &wanted);
    let wait = shared.wait_of_wrong_token(from);
    if !wait.is_zero() {
        // The place of a waiting stranger is free for newcomers.
        let visit = parts.extensions.get::<Arc<VisitorPlace>>();
        visit.inspect(|visit| visit.set_busy(false));
        tokio::time::sleep(wait).await;
        visit.inspect(|visit| visit.set_busy(true));
    }
    let text = "missing or unknown token: send Authorization: Bearer TOKEN";
    Err(RejectedRequest(Refusal::new(Reason::Unauthorised, text)))
}
