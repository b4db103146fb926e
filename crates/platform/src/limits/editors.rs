//! Limits of the language server and of the formatter.

/// Bytes of one message from an editor; the server ends at a longer one.
pub const EDITOR_MESSAGE_BYTES_MAX: usize = 32 << 20;
/// Bytes of the header before a message from an editor.
pub const EDITOR_HEADER_BYTES_MAX: usize = 4 << 10;
/// Documents that an editor may hold open; those after them are not served.
pub const EDITOR_DOCUMENTS_MAX: usize = 1_000;
/// Bytes of a document that an editor holds open; a longer one is not served.
pub const EDITOR_DOCUMENT_BYTES_MAX: usize = 8 << 20;
/// Proposals for a place in a program.
pub const EDITOR_COMPLETIONS_MAX: usize = 1_000;
/// Places in an answer to an editor: references, outline, edits.
pub const EDITOR_PLACES_MAX: usize = 10_000;
/// Programs of one society that tools read, those of created agents included.
pub const EDITOR_PROGRAMS_MAX: usize = 1_000;
/// Agents of one society whose names tools know.
pub const EDITOR_AGENTS_MAX: usize = 10_000;
