//! Loading of programs: text, with all that it includes, to a compiled program with the library behind it.

use std::sync::{Arc, LazyLock};

use whimbrel_acl::Text;

use crate::bundle::{Bundle, Included};
use crate::code::{Image, compile};
use crate::syntax::{self, Diagnostic, LoadError, Loader, SourceText, ast};

/// Library programs, whose plans every agent has behind its own: for messages, for journeys, and for operators. Each
/// has the name of its file. Saved minds know plans by their places, so new programs come last.
const LIBRARY: [(&str, &str); 3] = [
    ("kqml.asl", include_str!("library/kqml.asl")),
    ("journeys.asl", include_str!("library/journeys.asl")),
    ("operator.asl", include_str!("library/operator.asl")),
];

/// Returns true for the file of a library program.
pub(crate) fn is_library(file: &str) -> bool {
    LIBRARY.iter().any(|(name, _)| *name == file)
}

/// Returns the number of plans in the first `programs` library programs. The first release had one, the next had two.
pub(crate) fn library_plans(programs: usize) -> usize {
    let is_one = |file: &str| LIBRARY.iter().take(programs).any(|(name, _)| *name == file);
    LIBRARY_PROGRAM.plans.iter().filter(|plan| is_one(&plan.file)).count()
}

static LIBRARY_PROGRAM: LazyLock<ast::Program> = LazyLock::new(|| {
    let mut library = ast::Program::default();
    for (name, text) in LIBRARY {
        let parsed = syntax::parse_program(text, &Text::from(name), &mut syntax::NoFiles);
        debug_assert!(parsed.diagnostics.is_empty(), "{:?}", parsed.diagnostics);
        library.plans.extend(parsed.program.plans);
    }
    library
});

/// Returns the library's program, whose plans every agent has behind its own.
pub fn library() -> &'static ast::Program {
    &LIBRARY_PROGRAM
}

/// Error of a malformed program, with all its faults.
#[derive(Clone, Debug, thiserror::Error)]
#[error("the program has errors")]
pub struct ProgramError {
    /// Faults: errors and warnings.
    pub diagnostics: Vec<Diagnostic>,
}

/// Parses and compiles a program. Also returns warnings.
///
/// # Errors
/// Returns an error if the program is malformed.
pub fn load(text: &str, file: &Text, loader: &mut dyn Loader) -> Result<(Arc<Image>, Vec<Diagnostic>), ProgramError> {
    let Loaded { image, warnings, .. } = load_bundled(text, file, loader)?;
    Ok((Arc::new(image), warnings))
}

/// Compiled program.
#[derive(Debug)]
pub struct Loaded {
    /// Program.
    pub image: Image,
    /// Warnings.
    pub warnings: Vec<Diagnostic>,
    /// Bundle of the texts it was made from.
    pub bundle: Bundle,
}

/// Loads like [`load`], and also returns the bundle from which another node can make the program.
///
/// # Errors
/// Returns an error if the program is malformed.
pub fn load_bundled(text: &str, file: &Text, loader: &mut dyn Loader) -> Result<Loaded, ProgramError> {
    let bundle = Bundle { text: text.to_owned(), included: Vec::new() };
    let mut loader = Bundling { loader, file, bundle };
    let parsed = syntax::parse_program(text, file, &mut loader);
    if !parsed.is_ok() {
        return Err(ProgramError { diagnostics: parsed.diagnostics });
    }
    let bundle = loader.bundle;
    let of_includes = |before, included: &Included| fingerprint(before, &included.text);
    let fingerprint = bundle.included.iter().fold(fingerprint(0, text), of_includes);
    let image = Image { fingerprint, ..compile_program(parsed.program, file.clone()) };
    Ok(Loaded { image, warnings: parsed.diagnostics, bundle })
}

/// Loader that notes all included files.
struct Bundling<'a> {
    loader: &'a mut dyn Loader,
    file: &'a str,
    bundle: Bundle,
}

impl Loader for Bundling<'_> {
    fn load(&mut self, path: &str, from_file: &str) -> Result<(Text, SourceText), LoadError> {
        let found = self.loader.load(path, from_file);
        match &found {
            Ok((name, source)) => self.bundle.note(self.file, path, name, &source.text),
            Err(_) => self.bundle.note_missing(path),
        }
        found
    }

    fn load_library(&mut self, path: &str) -> Result<(Text, SourceText), LoadError> {
        let found = self.loader.load_library(path);
        match &found {
            Ok((name, source)) => self.bundle.note(self.file, path, name, &source.text),
            Err(_) => self.bundle.note_missing(path),
        }
        found
    }

    fn is_strict(&self) -> bool {
        self.loader.is_strict()
    }
}

/// Computes a number that distinguishes texts (FNV-1a), continuing from an earlier one.
fn fingerprint(before: u64, text: &str) -> u64 {
    text.bytes()
        .fold(before ^ 0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Compiles a program, followed by the library.
pub fn compile_program(program: ast::Program, name: Text) -> Image {
    compile::compile(program, &LIBRARY_PROGRAM, name)
}
