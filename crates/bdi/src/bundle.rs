//! Bundles: a program with all its includes as bytes, from which any node makes the same program without files.

use whimbrel_acl::Text;
use whimbrel_acl::compact::{self, Decode, Encode, Limits};

use crate::shared_library;
use crate::syntax::{LoadError, Loader, SourceText};

/// First byte of a bundle.
const LAYOUT: u8 = 1;

/// Text of a program, and of its includes in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Bundle {
    /// Text of the program.
    pub text: String,
    /// Included files.
    pub included: Vec<Included>,
}

/// Included file.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Included {
    /// Path in the directive.
    pub path: String,
    /// Name of the file found: equal names are one file. Empty if none was found.
    pub name: String,
    /// True if the name begins in the program's folder, wherever that is.
    pub is_beside: bool,
    /// Text of the file.
    pub text: String,
}

/// Error: bytes are no bundle.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("these bytes are no AgentSpeak program that came from another node")]
pub struct BundleError;

/// Returns the folder of a file, with a trailing slash; empty if there is none.
fn folder_of(file: &str) -> &str {
    file.rfind('/').and_then(|slash| file.get(..=slash)).unwrap_or_default()
}

impl Bundle {
    /// Encodes the bundle: the same program gives the same bytes, in whichever folder it is. Returns `None` if it is
    /// too large.
    pub fn encode(&self) -> Option<Vec<u8>> {
        let mut bytes = vec![LAYOUT];
        compact::encode_body_of(self, &mut bytes).ok()?;
        Some(bytes)
    }

    /// Decodes a bundle.
    ///
    /// # Errors
    /// Returns an error if the bytes are no bundle.
    pub fn decode(bytes: &[u8]) -> Result<Self, BundleError> {
        match bytes.split_first() {
            Some((&LAYOUT, body)) => compact::decode_body_as(body, Limits::MESSAGE).map_err(|_| BundleError),
            _ => Err(BundleError),
        }
    }

    /// Notes that a file to include was missing: it has no name.
    pub(crate) fn note_missing(&mut self, path: &str) {
        let (name, text) = (String::new(), String::new());
        self.included.push(Included { path: path.to_owned(), name, is_beside: false, text });
    }

    /// Notes that a file was included in the program `file`.
    pub(crate) fn note(&mut self, file: &str, path: &str, name: &str, text: &str) {
        let is_beside = |rest: &&str| !rest.starts_with('/') && !shared_library::contains(name);
        let beside = name.strip_prefix(folder_of(file)).filter(is_beside);
        self.included.push(Included {
            path: path.to_owned(),
            name: beside.unwrap_or(name).to_owned(),
            is_beside: beside.is_some(),
            text: text.to_owned(),
        });
    }

    /// Returns a loader that gives the included texts once more, to the program known as `file`.
    pub fn loader<'a>(&'a self, file: &'a str) -> impl Loader + 'a {
        Unpacking { rest: self.included.iter(), folder: folder_of(file) }
    }
}

struct Unpacking<'a> {
    rest: std::slice::Iter<'a, Included>,
    folder: &'a str,
}

impl Loader for Unpacking<'_> {
    fn load(&mut self, path: &str, _from_file: &str) -> Result<(Text, SourceText), LoadError> {
        let next = self.rest.next().filter(|included| included.path == path);
        let included = next.ok_or(LoadError::Incomplete)?;
        if included.name.is_empty() {
            return Err("it was not there where the program comes from".to_owned().into());
        }
        let folder = if included.is_beside { self.folder } else { "" };
        Ok((Text::from(format!("{folder}{}", included.name)), included.text.clone().into()))
    }

    /// Returns the version that came with the program: saved minds know plans by their places.
    fn load_library(&mut self, path: &str) -> Result<(Text, SourceText), LoadError> {
        self.load(path, "")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::{load, load_bundled};

    /// Files by name.
    struct BundledFiles(&'static [(&'static str, &'static str)]);

    impl Loader for BundledFiles {
        fn load(&mut self, path: &str, from_file: &str) -> Result<(Text, SourceText), LoadError> {
            let name = format!("{}{path}", folder_of(from_file));
            let file = self.0.iter().find(|(known, _)| *known == name || *known == path);
            file.map(|(name, text)| (Text::from(*name), (*text).to_owned().into()))
                .ok_or_else(|| "missing".to_owned().into())
        }
    }

    const PROGRAM: &str = "{ include(\"a.asl\") } { include(\"/lib/c.asl\", ns) } !go. +!go <- !a.";

    #[test]
    fn program_is_same_in_other_folder() {
        let here = &[("/x/a.asl", "{ include(\"b.asl\") } +!a <- !b."), ("/x/b.asl", "+!b."), ("/lib/c.asl", "c(1).")];
        let there = &[("y/a.asl", "{ include(\"b.asl\") } +!a <- !b."), ("y/b.asl", "+!b."), ("/lib/c.asl", "c(1).")];
        let made = load_bundled(PROGRAM, &Text::from("/x/p.asl"), &mut BundledFiles(here)).unwrap();
        let other = load_bundled(PROGRAM, &Text::from("y/p.asl"), &mut BundledFiles(there)).unwrap();
        let bytes = made.bundle.encode().unwrap();
        assert_eq!(bytes, other.bundle.encode().unwrap());
        let bundle = Bundle::decode(&bytes).unwrap();
        assert_eq!(bundle, made.bundle);
        let (image, _) = load(&bundle.text, &Text::from("/x/p.asl"), &mut bundle.loader("/x/p.asl")).unwrap();
        assert_eq!((image.fingerprint, image.plans.len()), (made.image.fingerprint, made.image.plans.len()));
    }

    #[test]
    fn missing_files_stay_missing() {
        let files = &[("a.asl", "+!a."), ("bad.asl", "+!b <- ."), ("c.asl", "{ include(\"a.asl\") } +!c.")];
        let text =
            "{ include(\"a.asl\") } { include(\"none.asl\") } { include(\"bad.asl\") } { include(\"c.asl\") } !a.";
        let made = load_bundled(text, &Text::from("p.asl"), &mut BundledFiles(files)).unwrap();
        let bundle = Bundle::decode(&made.bundle.encode().unwrap()).unwrap();
        let (image, warnings) = load(&bundle.text, &Text::from("x/p.asl"), &mut bundle.loader("x/p.asl")).unwrap();
        assert_eq!((image.fingerprint, image.plans.len()), (made.image.fingerprint, made.image.plans.len()));
        assert_eq!(warnings.len(), made.warnings.len());
    }

    #[test]
    fn bad_bundle_is_refused() {
        for bytes in [&[][..], &[0], &[2, 0], &[LAYOUT], &[LAYOUT, 0xff, 0xff]] {
            assert_eq!(Bundle::decode(bytes), Err(BundleError), "{bytes:?}");
        }
        let liar = Bundle { text: PROGRAM.to_owned(), included: Vec::new() };
        assert!(load(&liar.text, &Text::from("p.asl"), &mut liar.loader("p.asl")).is_err());
    }
}
