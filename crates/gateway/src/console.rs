//! The console: files that are built into the program.

use axum::body::Body;
use axum::http::header::{self, HeaderMap, HeaderValue};
use axum::http::{Response, StatusCode};

/// Content security policy of the node's pages: they load from the node itself only.
pub(crate) const POLICY: &str = "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; \
     worker-src 'self' blob:; connect-src 'self'; script-src 'self' 'wasm-unsafe-eval'; object-src 'none'; base-uri 'none'; \
     form-action 'none'; frame-ancestors 'none'";

include!(concat!(env!("OUT_DIR"), "/console.rs"));

/// A file of the console.
struct ConsoleFile {
    /// Path, with a leading slash.
    path: &'static str,
    kind: &'static str,
    bytes: &'static [u8],
    /// Entity tag: differs for different bytes.
    tag: &'static str,
}

/// Page that is shown when the console was not built.
const UNBUILT: &str = include_str!("unbuilt.html");

/// Returns the files of the SDK for pages that are built into the program: their names, and what is in them. Pages that
/// a node serves find them below `/sdk/`.
pub fn sdk_files() -> impl Iterator<Item = (&'static str, &'static [u8])> {
    FILES.iter().filter_map(|file| Some((file.path.strip_prefix("/sdk/")?, file.bytes)))
}

/// Returns the file at this path; `304 Not Modified` if the client has this version. `None` if there is no such file.
pub(crate) fn file(path: &str, headers: &HeaderMap) -> Option<Response<Body>> {
    let path = if path == "/" { "/index.html" } else { path };
    let Some(file) = FILES.iter().find(|file| file.path == path) else {
        let is_page = path == "/index.html";
        return is_page.then(|| respond(StatusCode::OK, "text/html; charset=utf-8", None, UNBUILT.as_bytes()));
    };
    let known = headers.get(header::IF_NONE_MATCH).and_then(|known| known.to_str().ok());
    if known.is_some_and(|known| known.split(',').any(|one| one.trim().trim_start_matches("W/") == file.tag)) {
        return Some(respond(StatusCode::NOT_MODIFIED, file.kind, Some(file), b""));
    }
    Some(respond(StatusCode::OK, file.kind, Some(file), file.bytes))
}

fn respond(status: StatusCode, kind: &'static str, file: Option<&ConsoleFile>, bytes: &'static [u8]) -> Response<Body> {
    let mut response = Response::new(Body::from(bytes));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    if let Some(file) = file {
        headers.insert(header::ETAG, HeaderValue::from_static(file.tag));
        // Names of built files tell what is in them; the page's own does not.
        let lasts = if file.path.starts_with("/assets/") { "public, max-age=31536000, immutable" } else { "no-cache" };
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(lasts));
    }
    response
}
