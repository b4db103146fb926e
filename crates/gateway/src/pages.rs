//! Pages of the node's owner: files of a folder, served at `/pages/`. Reading needs no token, since a page has none
//! before it is read; later requests of the page need one.

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};
use std::time::UNIX_EPOCH;

use axum::body::{Body, Bytes};
use axum::http::header::{CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, ETAG, HeaderValue, IF_NONE_MATCH};
use axum::http::{HeaderMap, Response, StatusCode};
use futures_util::Stream;
use futures_util::stream;
use whimbrel_platform::connection_limit::ConnectionPlace;
use whimbrel_platform::limits::{HTTP_PAGE_BYTES_MAX, HTTP_PAGE_PIECE_BYTES};

include!("kinds.rs");

/// Folder of pages.
#[derive(Debug)]
pub(crate) struct Pages(PathBuf);

impl Pages {
    /// Opens this folder.
    ///
    /// # Errors
    /// The path is no folder.
    pub fn of(folder: &Path) -> io::Result<Self> {
        let folder = folder.canonicalize()?;
        if folder.is_dir() { Ok(Self(folder)) } else { Err(io::ErrorKind::NotADirectory.into()) }
    }

    /// Returns the file at this path below the folder; for a folder, its `index.html`. `None` if there is no such file,
    /// or it is hidden. The body is read piece by piece as the client takes it, and holds the place of `reader` until
    /// its end. A client whose headers name this version gets `304 Not Modified`.
    pub fn read(&self, path: &str, asked: &HeaderMap, reader: ConnectionPlace) -> Option<Response<Body>> {
        let path = self.find(path)?;
        let file = File::open(&path).ok()?;
        let data = file.metadata().ok().filter(Metadata::is_file)?;
        let mut response = Response::new(Body::empty());
        if data.len() > HTTP_PAGE_BYTES_MAX {
            *response.status_mut() = StatusCode::PAYLOAD_TOO_LARGE;
            return Some(response);
        }
        response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        if let Some(tag) = tag(&data) {
            let known = asked.get_all(IF_NONE_MATCH).iter().any(|known| names(known, &tag));
            response.headers_mut().insert(ETAG, tag);
            if known {
                *response.status_mut() = StatusCode::NOT_MODIFIED;
                return Some(response);
            }
        }
        let kind = kind(&path.to_string_lossy());
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        response.headers_mut().insert(CONTENT_LENGTH, data.len().into());
        *response.body_mut() = Body::from_stream(pieces(file, data.len(), reader));
        Some(response)
    }

    /// Returns the file of a path, if it is within the folder and not hidden.
    fn find(&self, path: &str) -> Option<PathBuf> {
        let path = Path::new(path);
        let is_shown = |part: Component<'_>| match part {
            Component::Normal(name) => !name.to_string_lossy().starts_with('.'),
            _ => false,
        };
        if !path.components().all(is_shown) {
            return None;
        }
        let found = self.0.join(path).canonicalize().ok()?;
        let found = if found.is_dir() { found.join("index.html").canonicalize().ok()? } else { found };
        found.starts_with(&self.0).then_some(found)
    }
}

/// Returns the entity tag of a file's version, from its length and modification time.
fn tag(data: &Metadata) -> Option<HeaderValue> {
    let written = data.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    HeaderValue::try_from(format!("W/\"{:x}-{:x}\"", data.len(), written.as_nanos())).ok()
}

/// Returns true if a header with known tags has this one (RFC 9110, 13.1.2: weak comparison).
fn names(known: &HeaderValue, tag: &HeaderValue) -> bool {
    let known = known.to_str().unwrap_or_default();
    known.split(',').map(str::trim).any(|one| one == "*" || one.as_bytes() == tag.as_bytes())
}

/// Streams this many bytes of a file, with one piece at a time in memory.
fn pieces(file: File, bytes: u64, reader: ConnectionPlace) -> impl Stream<Item = io::Result<Bytes>> + Send {
    stream::try_unfold((file, bytes, reader), |(mut file, left, reader)| async move {
        if left == 0 {
            return Ok(None);
        }
        let length = left.min(HTTP_PAGE_PIECE_BYTES as u64);
        let reading = tokio::task::spawn_blocking(move || {
            let mut piece = vec![0; length as usize];
            // The file is shorter by now. Cut the connection off: the client was promised more bytes.
            file.read_exact(&mut piece).map(|()| (piece, file))
        });
        let (piece, file) = reading.await.map_err(io::Error::other)??;
        Ok(Some((Bytes::from(piece), (file, left - length, reader))))
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use whimbrel_platform::connection_limit::ConnectionLimit;

    use super::*;

    #[test]
    fn only_files_of_folder_are_served() {
        let around = std::env::temp_dir().join(format!("whimbrel-pages-{}", std::process::id()));
        let folder = around.join("pages");
        fs::create_dir_all(folder.join("maps")).expect("it can be made");
        for (name, text) in [
            ("index.html", "home"),
            ("maps/index.html", "maps"),
            ("a b.js", "code"),
            (".secret", "no"),
            ("../outside", "no"),
        ] {
            fs::write(folder.join(name), text).expect("it can be written");
        }
        std::os::unix::fs::symlink(around.join("outside"), folder.join("link")).expect("it can be made");
        let pages = Pages::of(&folder).expect("it is a folder");
        let readers = ConnectionLimit::of(1, 1);
        let reader = || readers.enter([127, 0, 0, 1].into()).expect("the one before is gone");
        let kind = |path: &str| {
            let response = pages.read(path, &HeaderMap::new(), reader())?;
            response.headers().get(CONTENT_TYPE).map(|kind| kind.to_str().expect("text").to_owned())
        };
        assert_eq!(kind("").as_deref(), Some("text/html; charset=utf-8"));
        assert_eq!(kind("maps").as_deref(), Some("text/html; charset=utf-8"));
        assert_eq!(kind("a b.js").as_deref(), Some("text/javascript; charset=utf-8"));
        for path in
            ["../outside", "link", ".secret", "/etc/passwd", "maps/../../outside", "none", "maps/./index.html/..", "\0"]
        {
            assert!(pages.read(path, &HeaderMap::new(), reader()).is_none(), "{path}");
        }
        let long = File::create(folder.join("long.bin")).expect("it can be made");
        long.set_len(HTTP_PAGE_BYTES_MAX + 1).expect("it can be long");
        assert_eq!(
            pages.read("long.bin", &HeaderMap::new(), reader()).map(|r| r.status()),
            Some(StatusCode::PAYLOAD_TOO_LARGE)
        );
        assert!(Pages::of(&folder.join("index.html")).is_err() && Pages::of(&folder.join("none")).is_err());
        fs::remove_dir_all(around).expect("it can be removed");
    }

    #[test]
    fn known_page_is_not_modified() {
        let folder = std::env::temp_dir().join(format!("whimbrel-known-pages-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("it can be made");
        fs::write(folder.join("a.html"), "first").expect("it can be written");
        let (pages, readers) = (Pages::of(&folder).expect("it is a folder"), ConnectionLimit::of(1, 1));
        let ask = |known: Option<&HeaderValue>| {
            let known = known.map(|known| (IF_NONE_MATCH, known.clone()));
            let reader = readers.enter([127, 0, 0, 1].into()).expect("the one before is gone");
            let response = pages.read("a.html", &known.into_iter().collect(), reader).expect("it is there");
            (response.status(), response.headers().get(ETAG).cloned().expect("a tag"))
        };
        let (status, tag) = ask(None);
        assert_eq!(status, StatusCode::OK);
        assert_eq!(ask(Some(&tag)), (StatusCode::NOT_MODIFIED, tag.clone()));
        let among_others = HeaderValue::try_from(format!("\"x\", {}", tag.to_str().expect("text"))).expect("text");
        assert_eq!(ask(Some(&among_others)).0, StatusCode::NOT_MODIFIED);
        fs::write(folder.join("a.html"), "another").expect("it can be written");
        assert_eq!(ask(Some(&tag)).0, StatusCode::OK);
        fs::remove_dir_all(folder).expect("it can be removed");
    }

    #[tokio::test]
    async fn file_is_streamed() {
        let folder = std::env::temp_dir().join(format!("whimbrel-long-pages-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("it can be made");
        let text: Vec<u8> = (0..3 * HTTP_PAGE_PIECE_BYTES + 7).map(|at| at as u8).collect();
        fs::write(folder.join("a.bin"), &text).expect("it can be written");
        let (pages, readers) = (Pages::of(&folder).expect("it is a folder"), ConnectionLimit::of(1, 1));
        let reader = || readers.enter([127, 0, 0, 1].into());
        let read = async |response: Response<Body>| axum::body::to_bytes(response.into_body(), usize::MAX).await;
        let response = pages.read("a.bin", &HeaderMap::new(), reader().expect("a place")).expect("it is there");
        assert_eq!(response.headers().get(CONTENT_LENGTH), Some(&HeaderValue::from(text.len())));
        assert!(reader().is_none(), "somebody reads");
        assert_eq!(read(response).await.expect("all of it").as_ref(), text);
        let response = pages.read("a.bin", &HeaderMap::new(), reader().expect("a place")).expect("it is there");
        fs::write(folder.join("a.bin"), "short").expect("it can be written");
        assert!(read(response).await.is_err(), "there is not as much as was said");
        assert!(reader().is_some());
        fs::remove_dir_all(folder).expect("it can be removed");
    }
}
