//! Session: state that the parsers of a program's files share.

use rustc_hash::{FxHashMap, FxHashSet};
use whimbrel_acl::{Symbol, Text};

use crate::shared_library;
use crate::syntax::ast::Program;
use crate::syntax::diagnostics::Diagnostics;
use crate::syntax::source_text::SourceText;

/// Loader of the files that a program includes.
pub trait Loader {
    /// Loads the file called `path` in an `include` of `from_file`. Returns the name that identifies the file, and
    /// its text: equal names are one file. `path` may begin with `$jasonJar`, the root of the standard library.
    ///
    /// # Errors
    /// Returns the reason, in a few words, if there is no such file.
    fn load(&mut self, path: &str, from_file: &str) -> Result<(Text, SourceText), LoadError>;

    /// Returns the name and text of a file of Whimbrel's own library, which exists everywhere: `path` begins with
    /// `$whimbrel/`. A loader that notes what it loads, or has another version of the file, replaces this method.
    ///
    /// # Errors
    /// Returns the reason, in a few words, if there is no such file.
    fn load_library(&mut self, path: &str) -> Result<(Text, SourceText), LoadError> {
        shared_library::load(path)
    }

    /// Returns true if a missing or faulty include is an error of the program, rather than a warning.
    fn is_strict(&self) -> bool {
        false
    }
}

/// Reason why a file cannot be included.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// The file does not exist, or cannot be read.
    #[error("{0}")]
    Missing(String),
    /// The program came from elsewhere without this file.
    #[error("it did not come with the program")]
    Incomplete,
}

impl From<String> for LoadError {
    fn from(reason: String) -> Self {
        Self::Missing(reason)
    }
}

/// Loader that finds nothing: for text that is not a file.
pub struct NoFiles;

impl Loader for NoFiles {
    fn load(&mut self, _path: &str, _from_file: &str) -> Result<(Text, SourceText), LoadError> {
        Err("there are no files here".to_owned().into())
    }
}

/// State that the parsers of a program's files share.
pub(crate) struct ParseSession<'l> {
    pub(crate) program: Program,
    pub(crate) diagnostics: Diagnostics,
    pub(crate) loader: &'l mut dyn Loader,
    /// Files being parsed, outermost first.
    pub(crate) files: Vec<Text>,
    /// Arities of functions that the program has registered.
    pub(crate) functions: FxHashMap<Symbol, u32>,
    /// Files of Whimbrel's library that were included, each with its namespace.
    pub(crate) library: FxHashSet<(String, Option<Symbol>)>,
    /// Number of namespaces that are local to a file, for their names.
    pub(crate) local_namespaces: u32,
    /// True for text from a running agent: checks that matter only in programs are left out.
    pub(crate) at_run_time: bool,
}

impl<'l> ParseSession<'l> {
    pub(crate) fn new(loader: &'l mut dyn Loader) -> Self {
        Self {
            program: Program::default(),
            diagnostics: Diagnostics::default(),
            loader,
            files: Vec::new(),
            functions: FxHashMap::default(),
            library: FxHashSet::default(),
            local_namespaces: 0,
            at_run_time: false,
        }
    }

    /// Marks the current state of the session, to which a file with errors is rolled back.
    pub(crate) fn mark(&self) -> SessionMark {
        let Program { beliefs, goals, plans, functions, local_namespaces } = &self.program;
        let lengths = [beliefs.len(), goals.len(), plans.len(), functions.len(), local_namespaces.len()];
        SessionMark { lengths, functions: self.functions.clone(), errors: self.diagnostics.errors() }
    }

    /// Returns true if errors were found since `mark`.
    pub(crate) fn failed_since(&self, mark: &SessionMark) -> bool {
        self.diagnostics.errors() > mark.errors
    }

    /// Drops everything parsed since `mark`. Its errors become warnings, and the program continues without it.
    pub(crate) fn leave_out_since(&mut self, mark: SessionMark) {
        let [beliefs, goals, plans, functions, local_namespaces] = mark.lengths;
        self.program.beliefs.truncate(beliefs);
        self.program.goals.truncate(goals);
        self.program.plans.truncate(plans);
        self.program.functions.truncate(functions);
        self.program.local_namespaces.truncate(local_namespaces);
        self.functions = mark.functions;
        self.diagnostics.excuse_since(mark.errors);
    }
}

/// State of a [`ParseSession`] to return to.
pub(crate) struct SessionMark {
    lengths: [usize; 5],
    functions: FxHashMap<Symbol, u32>,
    errors: usize,
}
