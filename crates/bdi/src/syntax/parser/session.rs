//! What the parsers of a program's files share.

use rustc_hash::FxHashMap;
use whimbrel_acl::{Symbol, Text};

use crate::syntax::ast::Program;
use crate::syntax::diagnostics::Diagnostics;

/// Finds the files that a program includes.
pub trait Loader {
    /// The text of the file called `path` in an `include` of `from_file`, and the name by which to know it: equal names
    /// are one file. `path` may begin with `$jasonJar`, the root of the standard library.
    ///
    /// # Errors
    /// Why there is no such file, in a few words.
    fn load(&mut self, path: &str, from_file: &str) -> Result<(Text, String), String>;
}

/// A loader that finds nothing: for text that is not a file.
pub struct NoFiles;

impl Loader for NoFiles {
    fn load(&mut self, _path: &str, _from_file: &str) -> Result<(Text, String), String> {
        Err("there are no files here".to_owned())
    }
}

/// What the parsers of a program's files share.
pub(crate) struct Session<'l> {
    pub(crate) program: Program,
    pub(crate) diagnostics: Diagnostics,
    pub(crate) loader: &'l mut dyn Loader,
    /// The files being parsed, outermost first.
    pub(crate) files: Vec<Text>,
    /// Arities of functions that the program has registered.
    pub(crate) functions: FxHashMap<Symbol, u32>,
    /// Numbers the namespaces that are local to a file.
    pub(crate) local_namespaces: u32,
    /// Nothing is checked that only matters in programs: the text comes from a running agent.
    pub(crate) at_run_time: bool,
}

impl<'l> Session<'l> {
    pub(crate) fn new(loader: &'l mut dyn Loader) -> Self {
        Self {
            program: Program::default(),
            diagnostics: Diagnostics::default(),
            loader,
            files: Vec::new(),
            functions: FxHashMap::default(),
            local_namespaces: 0,
            at_run_time: false,
        }
    }
}
