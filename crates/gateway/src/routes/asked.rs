//! Bodies and queries of requests. One that cannot be read is refused like any other request.

use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use serde::de::DeserializeOwned;

use super::RejectedRequest;
use whimbrel_operator::{Reason, Refusal};

/// Body of a request, in JSON.
pub struct Json<T>(pub T);

/// Query of a request: the part of its URL after the question mark.
pub struct UrlQuery<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Json<T> {
    type Rejection = RejectedRequest;

    async fn from_request(request: Request, state: &S) -> Result<Self, Self::Rejection> {
        let read = axum::Json::from_request(request, state).await;
        let bad = |error: JsonRejection| RejectedRequest(Refusal::new(Reason::BadRequest, error.body_text()));
        read.map(|axum::Json(body)| Self(body)).map_err(bad)
    }
}

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for UrlQuery<T> {
    type Rejection = RejectedRequest;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Self::Rejection> {
        let read = axum::extract::Query::from_request_parts(parts, state).await;
        let bad = |error: QueryRejection| RejectedRequest(Refusal::new(Reason::BadRequest, error.body_text()));
        read.map(|axum::extract::Query(query)| Self(query)).map_err(bad)
    }
}
