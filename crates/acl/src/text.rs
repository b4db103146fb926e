//! Text of messages.

/// Cheaply cloned immutable text of any length (message identifiers, string content).
pub use arcstr::ArcStr as Text;
