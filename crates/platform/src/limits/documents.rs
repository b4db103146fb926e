//! Limits of documents that nodes offer.

/// Documents of a collection that a node offers its agents.
pub const DOCUMENTS_MAX: usize = 100_000;
/// Bytes of one document.
pub const DOCUMENT_BYTES_MAX: u64 = 16 << 20;
/// Bytes of all documents, which are kept in memory.
pub const DOCUMENTS_BYTES_MAX: u64 = 256 << 20;
/// Bytes of the name of a document, with its folders.
pub const DOCUMENT_NAME_BYTES_MAX: usize = 1_024;
/// Levels of folders that are searched for documents.
pub const DOCUMENT_FOLDERS_DEEP_MAX: usize = 32;
/// Documents that are listed at a time.
pub const DOCUMENTS_LISTED_MAX: usize = 1_000;
/// Bytes of a document that are read at a time.
pub const DOCUMENT_READ_BYTES_MAX: usize = 1 << 20;
