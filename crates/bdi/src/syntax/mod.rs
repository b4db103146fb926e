//! From source text to syntax tree, with diagnostics; and back to text.

pub mod ast;
