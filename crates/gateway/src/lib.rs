//! Everything HTTP of a node, and the words in which it is asked and answers.
#![forbid(unsafe_code)]

pub mod vocabulary;
