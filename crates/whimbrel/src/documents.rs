//! Documents that a node offers its agents: a folder of files, as an environment that they can act on.
//!
//! | request | answer |
//! |---|---|
//! | `count` | number of documents |
//! | `list(From)`, `list(From, Count)` | `document(Name, Bytes)` of each from number `From` (0 is the first), by name |
//! | `read(Name)` | the content: text, or bytes if it is no UTF-8 |
//! | `read(Name, From)`, `read(Name, From, Count)` | `part(Content, Next)`: from byte `From`; `Next` is where it ends |

use std::path::{Path, PathBuf};

use whimbrel_acl::{Aid, Bytes, Text, Value};
use whimbrel_platform::environment::NodeEnvironment;
use whimbrel_platform::limits::{
    DOCUMENT_BYTES_MAX, DOCUMENT_FOLDERS_DEEP_MAX, DOCUMENT_NAME_BYTES_MAX, DOCUMENT_READ_BYTES_MAX,
    DOCUMENTS_BYTES_MAX, DOCUMENTS_LISTED_MAX, DOCUMENTS_MAX,
};

/// Reasons why a folder's documents cannot be offered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DocumentsError {
    /// Folder that does not exist.
    #[error("there is no folder {}", .0.display())]
    Missing(PathBuf),
    /// The path is no folder.
    #[error("{} is no folder", .0.display())]
    NoFolder(PathBuf),
    /// The operating system says no.
    #[error("cannot read {}", .path.display())]
    Unreadable {
        /// The file or folder.
        path: PathBuf,
        /// Cause.
        source: std::io::Error,
    },
    /// File whose name cannot be used as a document's.
    #[error("the name of {} is no UTF-8, or longer than {DOCUMENT_NAME_BYTES_MAX} bytes", .0.display())]
    Name(PathBuf),
    /// Folder with more documents or bytes than a node keeps in memory.
    #[error("{} {what}", .path.display())]
    TooMuch {
        /// The file or folder.
        path: PathBuf,
        /// Of what.
        what: String,
    },
}

/// The documents of a folder and of those within it, as they were when it was opened. They are in memory: what agents
/// ask for is never a path. Links and hidden files (those with a dot first) are no documents.
#[derive(Debug)]
pub struct DocumentFolder {
    /// Documents in the order of their names.
    documents: Vec<DocumentFile>,
}

#[derive(Debug)]
struct DocumentFile {
    /// Name with its folders, as `poems/ozymandias.txt`.
    name: Text,
    content: DocumentContent,
}

#[derive(Debug)]
enum DocumentContent {
    Text(Text),
    Bytes(Bytes),
}

impl DocumentFolder {
    /// Reads the documents of a folder.
    ///
    /// # Errors
    /// There is no such folder, it cannot be read, or there is too much in it.
    pub fn open(folder: &Path) -> Result<Self, DocumentsError> {
        match std::fs::metadata(folder) {
            Ok(about) if !about.is_dir() => return Err(DocumentsError::NoFolder(folder.to_owned())),
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(DocumentsError::Missing(folder.to_owned()));
            }
            Err(source) => return Err(DocumentsError::Unreadable { path: folder.to_owned(), source }),
        }
        let mut reading = FolderReading { root: folder, documents: Vec::new(), bytes: 0 };
        reading.folder(folder, "", 0)?;
        let mut documents = reading.documents;
        documents.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        Ok(Self { documents })
    }

    /// Returns the number of documents.
    pub fn len(&self) -> usize {
        self.documents.len()
    }

    /// Returns true if there are no documents.
    pub fn is_empty(&self) -> bool {
        self.documents.is_empty()
    }

    fn list(&self, from: usize, count: usize) -> Value {
        let page = self.documents.iter().skip(from).take(count.min(DOCUMENTS_LISTED_MAX));
        let entry = |document: &DocumentFile| {
            let bytes = Value::Int(document.content.len() as i64);
            Value::term("document", [Value::Str(document.name.clone()), bytes])
        };
        Value::list(page.map(entry).collect::<Vec<_>>())
    }

    fn named(&self, name: &str) -> Result<&DocumentFile, String> {
        let found = self.documents.binary_search_by(|document| document.name.as_str().cmp(name));
        let document = found.ok().and_then(|at| self.documents.get(at));
        document.ok_or_else(|| format!("there is no document {name}"))
    }

    fn read(&self, name: &str) -> Result<Value, String> {
        let content = &self.named(name)?.content;
        if content.len() > DOCUMENT_READ_BYTES_MAX {
            let bytes = content.len();
            return Err(format!("{name} has {bytes} bytes: read it in parts, as read(\"{name}\", 0)"));
        }
        Ok(content.value())
    }

    fn part(&self, name: &str, from: usize, count: usize) -> Result<Value, String> {
        let (part, next) = self.named(name)?.content.part(from, count.min(DOCUMENT_READ_BYTES_MAX));
        Ok(Value::term("part", [part, Value::Int(next as i64)]))
    }
}

impl NodeEnvironment for DocumentFolder {
    fn act(&self, _agent: Aid, request: &Value) -> Result<Value, String> {
        let functor = request.functor().map(|functor| functor.as_str());
        match (functor, request.args()) {
            (Some("count"), []) => Ok(Value::Int(self.documents.len() as i64)),
            (Some("list"), [from]) => Ok(self.list(number(from)?, DOCUMENTS_LISTED_MAX)),
            (Some("list"), [from, count]) => Ok(self.list(number(from)?, number(count)?)),
            (Some("read"), [name]) => self.read(text(name)?),
            (Some("read"), [name, from]) => self.part(text(name)?, number(from)?, DOCUMENT_READ_BYTES_MAX),
            (Some("read"), [name, from, count]) => self.part(text(name)?, number(from)?, number(count)?),
            _ => {
                Err("documents understand count, list(From, Count), read(Name) and read(Name, From, Count)".to_owned())
            }
        }
    }
}

fn number(value: &Value) -> Result<usize, String> {
    let number = value.as_i64().and_then(|number| usize::try_from(number).ok());
    number.ok_or_else(|| "a whole number that is not negative is wanted there".to_owned())
}

fn text(value: &Value) -> Result<&str, String> {
    value.as_str().ok_or_else(|| "a document's name is text".to_owned())
}

impl DocumentContent {
    fn new(bytes: Vec<u8>) -> Self {
        match String::from_utf8(bytes) {
            Ok(text) => Self::Text(text.into()),
            Err(no_text) => Self::Bytes(no_text.into_bytes().into()),
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Bytes(bytes) => bytes.len(),
        }
    }

    fn value(&self) -> Value {
        match self {
            Self::Text(text) => Value::Str(text.clone()),
            Self::Bytes(bytes) => Value::Bytes(bytes.clone()),
        }
    }

    /// Returns at most `count` bytes from `from`, and the place where they end. Text begins and ends with whole
    /// characters: it may begin later and end earlier, but has at least one.
    fn part(&self, from: usize, count: usize) -> (Value, usize) {
        let from = from.min(self.len());
        match self {
            Self::Bytes(bytes) => {
                let next = from.saturating_add(count).min(bytes.len());
                (Value::from(bytes.get(from..next).unwrap_or_default()), next)
            }
            Self::Text(text) => {
                let begin = text.ceil_char_boundary(from);
                let mut next = text.floor_char_boundary(begin.saturating_add(count).min(text.len()));
                if next == begin && count > 0 {
                    next = text.ceil_char_boundary((begin + 1).min(text.len()));
                }
                (Value::Str(text.get(begin..next).unwrap_or_default().into()), next)
            }
        }
    }
}

/// A folder being read.
struct FolderReading<'a> {
    root: &'a Path,
    documents: Vec<DocumentFile>,
    bytes: u64,
}

impl FolderReading<'_> {
    fn folder(&mut self, folder: &Path, prefix: &str, deep: usize) -> Result<(), DocumentsError> {
        let unreadable = |source| DocumentsError::Unreadable { path: folder.to_owned(), source };
        if deep > DOCUMENT_FOLDERS_DEEP_MAX {
            return Err(too_much(folder, format!("is deeper than {DOCUMENT_FOLDERS_DEEP_MAX} folders")));
        }
        for entry in std::fs::read_dir(folder).map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            // Of the entry itself: a link is neither.
            let kind = entry.file_type().map_err(unreadable)?;
            let path = entry.path();
            let name = entry.file_name().into_string().map_err(|_| DocumentsError::Name(path.clone()))?;
            if name.starts_with('.') {
                continue;
            }
            let name = format!("{prefix}{name}");
            if kind.is_dir() {
                self.folder(&path, &format!("{name}/"), deep + 1)?;
            } else if kind.is_file() {
                self.file(&path, &name)?;
            }
        }
        Ok(())
    }

    fn file(&mut self, path: &Path, name: &str) -> Result<(), DocumentsError> {
        let unreadable = |source| DocumentsError::Unreadable { path: path.to_owned(), source };
        if name.len() > DOCUMENT_NAME_BYTES_MAX {
            return Err(DocumentsError::Name(path.to_owned()));
        }
        if self.documents.len() == DOCUMENTS_MAX {
            return Err(too_much(self.root, format!("has more than {DOCUMENTS_MAX} documents")));
        }
        let bytes = std::fs::metadata(path).map_err(unreadable)?.len();
        if bytes > DOCUMENT_BYTES_MAX {
            return Err(too_much(path, format!("has {bytes} bytes: a document has at most {DOCUMENT_BYTES_MAX}")));
        }
        self.bytes += bytes;
        if self.bytes > DOCUMENTS_BYTES_MAX {
            let what = format!("has more than {DOCUMENTS_BYTES_MAX} bytes of documents, which a node keeps in memory");
            return Err(too_much(self.root, what));
        }
        let content = DocumentContent::new(std::fs::read(path).map_err(unreadable)?);
        self.documents.push(DocumentFile { name: name.into(), content });
        Ok(())
    }
}

fn too_much(path: &Path, what: String) -> DocumentsError {
    DocumentsError::TooMuch { path: path.to_owned(), what }
}
