//! Terminal of commands: lines that agents print, notes and errors, tables, pages that are drawn again, and the end at
//! Ctrl-C. Commands write through [`screen`] and the functions here only, which escape what comes from agents and the
//! network.
#![forbid(unsafe_code)]

pub mod explanations;
mod lines;
pub mod options;
pub mod screen;
pub mod stopping;
pub mod table;

pub use lines::{AgentLines, advise, complain, complain_styled, note, notes, say_line, show, style_of};
