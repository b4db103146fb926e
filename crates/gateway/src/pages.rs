//! Pages that whoever runs the node puts beside the console: files of a folder, at `/pages/`. Anybody may read them, for a page
//! has no token before it is read; what it does afterwards needs one.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

use axum::body::Body;
use axum::http::header::{CONTENT_TYPE, HeaderValue};
use axum::http::{Response, StatusCode};
use whimbrel_platform::limits::HTTP_PAGE_BYTES_MAX;

include!("kinds.rs");

/// See the module.
#[derive(Debug)]
pub(crate) struct Pages(PathBuf);

impl Pages {
    /// Those of this folder.
    ///
    /// # Errors
    /// It is none.
    pub fn of(folder: &Path) -> io::Result<Self> {
        let folder = folder.canonicalize()?;
        if folder.is_dir() { Ok(Self(folder)) } else { Err(io::ErrorKind::NotADirectory.into()) }
    }

    /// The file at this path below the folder; of a folder, its `index.html`. `None` if there is none, or not for others.
    pub fn read(&self, path: &str) -> Option<Response<Body>> {
        let path = self.find(path)?;
        let file = File::open(&path).ok().filter(|file| file.metadata().is_ok_and(|data| data.is_file()))?;
        let mut bytes = Vec::new();
        file.take(HTTP_PAGE_BYTES_MAX + 1).read_to_end(&mut bytes).ok()?;
        let mut response = Response::new(Body::empty());
        if bytes.len() as u64 > HTTP_PAGE_BYTES_MAX {
            *response.status_mut() = StatusCode::PAYLOAD_TOO_LARGE;
            return Some(response);
        }
        let kind = kind(&path.to_string_lossy());
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        *response.body_mut() = Body::from(bytes);
        Some(response)
    }

    /// Where that is, if it is within the folder, however it is reached, and not hidden.
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

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn files_of_the_folder_are_read_and_no_others() {
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
        let kind = |path: &str| {
            let response = pages.read(path)?;
            response.headers().get(CONTENT_TYPE).map(|kind| kind.to_str().expect("text").to_owned())
        };
        assert_eq!(kind("").as_deref(), Some("text/html; charset=utf-8"));
        assert_eq!(kind("maps").as_deref(), Some("text/html; charset=utf-8"));
        assert_eq!(kind("a b.js").as_deref(), Some("text/javascript; charset=utf-8"));
        for path in
            ["../outside", "link", ".secret", "/etc/passwd", "maps/../../outside", "none", "maps/./index.html/..", "\0"]
        {
            assert!(pages.read(path).is_none(), "{path}");
        }
        let long = File::create(folder.join("long.bin")).expect("it can be made");
        long.set_len(HTTP_PAGE_BYTES_MAX + 1).expect("it can be long");
        assert_eq!(pages.read("long.bin").map(|response| response.status()), Some(StatusCode::PAYLOAD_TOO_LARGE));
        assert!(Pages::of(&folder.join("index.html")).is_err() && Pages::of(&folder.join("none")).is_err());
        fs::remove_dir_all(around).expect("it can be removed");
    }
}
