//! The programs of a society: found in its folders, compiled once, shared by all agents that run them.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use ring::digest::{SHA256, digest};
use rustc_hash::FxHashMap;
use whimbrel_acl::{Symbol, Text, Value};
use whimbrel_bdi::code::Image;
use whimbrel_bdi::syntax::{Diagnostic, LoadError, Loader, SourceText};
use whimbrel_bdi::{AgentConfig, Bundle, Loaded, ProgramError, plan_lines};
use whimbrel_operator::{PlanSteps, SourceLines};
use whimbrel_platform::ams::AgentKind;
use whimbrel_platform::durable::{CodeHash, Origin, State};
use whimbrel_platform::foreign_actions::SharedForeignActions;
use whimbrel_platform::inspection::QuotaSeen;
use whimbrel_platform::limits::{CODE_BYTES_MAX, CODES_TOLD_MAX, PROGRAMS_TOLD_MAX};
use whimbrel_platform::mobility::FetchError;
use whimbrel_platform::{AgentBody, Time};
use whimbrel_runtime::{CodeFound, PlatformAccess, ProgramLoader};

use crate::code_cache::{CodeCache, Form};
use crate::files::{SourceReadError, Sources};
use crate::foreign_programs::{Foreign, Made};
use crate::guests::{GuestCode, GuestModules, is_module};
use crate::python::PythonHost;

/// Option of a new agent that names its program by hash. Projects cannot write a key with a space.
const CODE: &str = "code of text";

/// Returns the option of a new agent that has it run the program of this hash.
pub(crate) fn code_option(code: CodeHash) -> (Symbol, Value) {
    (Symbol::new(CODE), Value::from(code.to_string()))
}

/// Reasons why a program cannot be run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CompileError {
    /// The program cannot be read.
    #[error(transparent)]
    Read(#[from] SourceReadError),
    /// The program has errors; contains all of them, and warnings.
    #[error("{}", first(.0))]
    Errors(Vec<Diagnostic>),
    /// The module cannot run here; contains the reason.
    #[error("{0}")]
    Module(String),
}

fn first(diagnostics: &[Diagnostic]) -> String {
    diagnostics.first().map_or_else(|| "the program has errors".to_owned(), Diagnostic::to_string)
}

/// Locks. Nothing here leaves data half changed when it panics.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn sha256(bytes: &[u8]) -> CodeHash {
    let mut hash = [0; 32];
    hash.copy_from_slice(digest(&SHA256, bytes).as_ref());
    CodeHash(hash)
}

/// A program of this node's own.
#[derive(Clone, Debug)]
struct Compiled {
    image: Arc<Image>,
    /// Bytes as they travel with agents; empty if they do not travel.
    bytes: Arc<[u8]>,
}

/// Program text and files, compiled once each.
#[derive(Debug, Default)]
pub struct Programs {
    sources: Sources,
    images: Mutex<FxHashMap<PathBuf, Compiled>>,
    guests: GuestModules,
    modules: Mutex<FxHashMap<PathBuf, GuestCode>>,
    foreign: Mutex<Foreign>,
    cache: Option<Arc<CodeCache>>,
    /// Number of times each code was wanted and present.
    hits: Mutex<FxHashMap<CodeHash, u64>>,
    /// True if a file that cannot be included is an error.
    is_strict: bool,
    /// Receiver of warnings about programs that are loaded while the society runs.
    reader: OnceLock<fn(&[Diagnostic])>,
    /// Python of the project, if it has any.
    python: OnceLock<Arc<PythonHost>>,
}

impl Programs {
    /// Programs that are found there. What comes from elsewhere is kept in that cache.
    pub fn new(sources: Sources, cache: Option<Arc<CodeCache>>) -> Self {
        Self { sources, guests: GuestModules::new(cache.clone()), cache, ..Self::default() }
    }

    /// Adds the project's Python, whose functions the programs may call.
    pub fn add_python(&self, python: Arc<PythonHost>) {
        // A project is read once.
        let _ = self.python.set(python);
    }

    /// Makes files that cannot be included errors of their programs.
    #[must_use]
    pub fn strict(self) -> Self {
        Self { is_strict: true, ..self }
    }

    /// Sets the receiver of warnings about programs that are loaded while the society runs.
    pub fn tell(&self, reader: fn(&[Diagnostic])) {
        // The first reader stays.
        let _ = self.reader.set(reader);
    }

    fn warn(&self, warnings: &[Diagnostic]) {
        if let (Some(reader), false) = (self.reader.get(), warnings.is_empty()) {
            reader(warnings);
        }
    }

    /// Returns the compiled program, and what there is to say about it when it is compiled for the first time.
    ///
    /// # Errors
    /// There is none, or it has errors.
    pub fn compile(&self, path: &str) -> Result<(Arc<Image>, Vec<Diagnostic>), CompileError> {
        self.compile_file(self.sources.find(path))
    }

    fn compile_file(&self, file: PathBuf) -> Result<(Arc<Image>, Vec<Diagnostic>), CompileError> {
        if let Some(compiled) = locked(&self.images).get(&file) {
            return Ok((Arc::clone(&compiled.image), Vec::new()));
        }
        let source = self.sources.read(&file)?;
        let name = Text::from(file.to_string_lossy());
        let misread = source.warning(&name);
        let mut includes = ProgramIncludes { sources: &self.sources, is_strict: self.is_strict };
        let Loaded { mut image, warnings, bundle } = whimbrel_bdi::load_bundled(&source.text, &name, &mut includes)
            .map_err(|ProgramError { diagnostics }| {
                CompileError::Errors(misread.iter().cloned().chain(diagnostics).collect())
            })?;
        let warnings = misread.into_iter().chain(warnings).collect();
        let bytes = bundle.encode().filter(|bytes| bytes.len() <= CODE_BYTES_MAX).unwrap_or_default();
        image.code = (!bytes.is_empty()).then(|| sha256(&bytes).0);
        let compiled = Compiled { image: Arc::new(image), bytes: bytes.into() };
        let image = Arc::clone(&compiled.image);
        locked(&self.images).insert(file, compiled);
        Ok((image, warnings))
    }

    /// Returns a program's file as it travels. The file is read again: it may have changed since agents began with it.
    fn bundle(&self, file: PathBuf) -> Result<Vec<u8>, CompileError> {
        let source = self.sources.read(&file)?;
        let name = Text::from(file.to_string_lossy());
        let mut includes = ProgramIncludes { sources: &self.sources, is_strict: self.is_strict };
        let loaded = whimbrel_bdi::load_bundled(&source.text, &name, &mut includes)
            .map_err(|ProgramError { diagnostics }| CompileError::Errors(diagnostics))?;
        self.warn(&loaded.warnings);
        let bytes = loaded.bundle.encode().filter(|bytes| bytes.len() <= CODE_BYTES_MAX);
        bytes.ok_or_else(|| CompileError::Module(format!("{name} has more than {CODE_BYTES_MAX} bytes")))
    }

    /// Returns a program that was kept, by the text of its hash.
    fn admitted(&self, path: &str, hash: &str) -> Result<Arc<Image>, String> {
        match locked(&self.foreign).all().find(|(code, ..)| code.to_string() == hash) {
            Some((_, Made::Program(image), _)) => Ok(Arc::clone(image)),
            _ => Err(format!("the program {path} is not kept any more")),
        }
    }

    /// Returns the folder of the project, unless it is built in.
    pub fn folder(&self) -> Option<&Path> {
        self.sources.project_folder()
    }

    /// Returns the file that the project names by `path`; the last place where one could be, if there is none.
    pub fn find_file(&self, path: &str) -> PathBuf {
        self.sources.find(path)
    }

    /// Returns a program's file as its project names it, whichever folder that is in.
    pub fn name(&self, file: &Path) -> String {
        let name = self.sources.project_folder().and_then(|folder| file.strip_prefix(folder).ok());
        name.or(file.file_name().map(Path::new)).unwrap_or(file).to_string_lossy().into_owned()
    }

    /// Returns the compiled WebAssembly module.
    ///
    /// # Errors
    /// There is none, or it cannot run here.
    pub fn module(&self, path: &str) -> Result<GuestCode, CompileError> {
        let file = self.sources.find(path);
        if let Some(code) = locked(&self.modules).get(&file) {
            return Ok(code.clone());
        }
        let bytes = self.sources.read_module(&file)?;
        self.admit_module(file, &bytes)
    }

    /// Compiles, while others look for what is compiled already.
    fn admit_module(&self, file: PathBuf, bytes: &[u8]) -> Result<GuestCode, CompileError> {
        let code = self.guests.code(&file, bytes).map_err(CompileError::Module)?;
        Ok(locked(&self.modules).entry(file).or_insert(code).clone())
    }
}

/// Code by its hash.
impl Programs {
    /// Returns a program of this node's own.
    fn own_image(&self, code: CodeHash) -> Option<Compiled> {
        locked(&self.images).values().find(|own| own.image.code == Some(code.0)).cloned()
    }

    /// Returns a module of this node's own.
    fn own_module(&self, code: CodeHash) -> Option<GuestCode> {
        locked(&self.modules).values().find(|own| own.is(code.0)).cloned()
    }

    /// Finds the code of an arriving agent in memory only, for the caller cannot wait.
    fn find(&self, origin: &Origin) -> CodeFound {
        let Some(code) = origin.code() else {
            let is_elsewhere = |path: &str| self.sources.find_inside(path).is_none();
            let is_missing = matches!(origin, Origin::Program { path, .. } if is_elsewhere(path));
            return if is_missing { CodeFound::Missing } else { CodeFound::Own };
        };
        let found = match () {
            () if self.own_image(code).is_some() || self.own_module(code).is_some() => CodeFound::Own,
            () if locked(&self.foreign).find(code).is_some() => CodeFound::Foreign,
            () => return CodeFound::Missing,
        };
        self.count_hit(code);
        found
    }

    /// Returns true if a file of this node's own has this code, which no agent here has run yet. The file's name counts
    /// only then.
    fn has_at(&self, origin: &Origin, code: CodeHash) -> bool {
        let (Origin::Program { path, .. } | Origin::Module { path, .. }) = origin else { return false };
        let Some(file) = self.sources.find_inside(path) else { return false };
        if matches!(origin, Origin::Program { .. }) {
            return self.compile_file(file).is_ok_and(|(image, _)| image.code == Some(code.0));
        }
        let bytes = self.sources.read_module(&file).ok().filter(|bytes| sha256(bytes) == code);
        bytes.is_some_and(|bytes| self.admit_module(file, &bytes).is_ok())
    }

    fn count_hit(&self, code: CodeHash) {
        let mut hits = locked(&self.hits);
        if hits.len() >= CODES_TOLD_MAX && !hits.contains_key(&code) {
            hits.clear();
        }
        *hits.entry(code).or_default() += 1;
    }

    /// Has code in use that came from another node, or that was kept since.
    fn take_in(&self, origin: &Origin, bytes: Vec<u8>) -> Result<Form, FetchError> {
        let code = origin.code().filter(|code| sha256(&bytes) == *code).ok_or(FetchError::WrongHash)?;
        let wrong = |error: &dyn std::fmt::Display| FetchError::Inadmissible(error.to_string());
        let (made, form) = match origin {
            Origin::Module { path, .. } => {
                let made = self.guests.code(Path::new(path), &bytes).map_err(|error| wrong(&error))?;
                (Made::Module(made), Form::Module)
            }
            Origin::Program { path, .. } => {
                let bundle = Bundle::decode(&bytes).map_err(|error| wrong(&error))?;
                let name = Text::from(path.as_str());
                let loaded = whimbrel_bdi::load_bundled(&bundle.text, &name, &mut bundle.loader(path));
                let mut image = loaded.map_err(|error| wrong(&CompileError::Errors(error.diagnostics)))?.image;
                image.code = Some(code.0);
                (Made::Program(Arc::new(image)), Form::Program)
            }
            _ => return Err(FetchError::None),
        };
        locked(&self.foreign).keep(code, made, bytes.into())?;
        Ok(form)
    }

    /// Does as [`ProgramLoader::recall_code`].
    fn recall(&self, origin: &Origin) -> bool {
        let Some(code) = origin.code() else { return false };
        if locked(&self.foreign).find(code).is_some() {
            return true;
        }
        let form = if matches!(origin, Origin::Module { .. }) { Form::Module } else { Form::Program };
        let kept = || self.cache.as_ref().and_then(|cache| cache.find(code, form));
        let is_here = self.has_at(origin, code) || kept().is_some_and(|bytes| self.take_in(origin, bytes).is_ok());
        if is_here {
            self.count_hit(code);
        }
        is_here
    }

    /// Does as [`ProgramLoader::admit_code`].
    fn admit(&self, origin: &Origin, bytes: Vec<u8>) -> Result<(), FetchError> {
        let form = self.take_in(origin, bytes)?;
        if let (Some(cache), Some(code)) = (&self.cache, origin.code())
            && let Some(bytes) = locked(&self.foreign).bytes(code)
        {
            cache.keep(code, form, &bytes);
        }
        Ok(())
    }

    /// Returns code that is in use here, in the form in which it travels.
    fn travelling(&self, code: CodeHash) -> Option<Arc<[u8]>> {
        let own = self.own_image(code).map(|own| own.bytes);
        let own = own.or_else(|| self.own_module(code).map(|own| own.bytes()));
        own.or_else(|| locked(&self.foreign).bytes(code))
    }

    /// Returns the program of AgentSpeak agents: of this code, or else of the file at `path`.
    fn image_for(&self, path: &str, code: Option<CodeHash>) -> Result<Arc<Image>, CompileError> {
        let Some(code) = code else { return Ok(self.compile(path)?.0) };
        if let Some(own) = self.own_image(code) {
            return Ok(own.image);
        }
        match locked(&self.foreign).find(code) {
            Some(Made::Program(image)) => Ok(Arc::clone(image)),
            _ => Ok(self.compile(path)?.0),
        }
    }

    /// Returns the module of WebAssembly agents with this code.
    fn module_for(&self, path: &str, code: CodeHash) -> Result<GuestCode, CompileError> {
        if let Some(own) = self.own_module(code) {
            return Ok(own);
        }
        match locked(&self.foreign).find(code) {
            Some(Made::Module(code)) => Ok(code.clone()),
            _ => self.module(path),
        }
    }
}

/// A code that a node has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeSeen {
    /// Hash by which all nodes know the program.
    pub code: CodeHash,
    /// Name of the file, if known.
    pub name: Option<String>,
    /// True for a WebAssembly module, false for an AgentSpeak program.
    pub is_module: bool,
    /// True for a program of this node's own project.
    pub is_own: bool,
    /// True if the program is in memory, ready for agents.
    pub is_loaded: bool,
    /// Bytes by which it travels.
    pub bytes: u64,
    /// Bytes of its compiled form in the folder of the cache, if that is there.
    pub compiled_bytes: Option<u64>,
    /// Number of times an arriving agent wanted this code and found it.
    pub hits: u64,
}

/// Code for operators.
impl Programs {
    /// Returns the files of compiled programs, with the lines of their steps.
    fn step_lines(&self) -> Vec<SourceLines> {
        let mut files: Vec<SourceLines> = Vec::new();
        let mut add = |image: &Image, is_own: bool| {
            for plan in plan_lines(image) {
                let found = files.iter().position(|file| file.file == *plan.file);
                let place = found.unwrap_or_else(|| {
                    let path = std::fs::canonicalize(plan.file.as_str()).ok().filter(|_| is_own);
                    let path = path.map(|path| path.to_string_lossy().into_owned());
                    files.push(SourceLines { file: plan.file.to_string(), path, plans: Vec::new() });
                    files.len() - 1
                });
                let plan = PlanSteps { line: plan.line, steps: plan.steps };
                if let Some(file) = files.get_mut(place).filter(|file| !file.plans.contains(&plan)) {
                    file.plans.push(plan);
                }
            }
        };
        locked(&self.images).values().for_each(|own| add(&own.image, true));
        for (_, made, _) in locked(&self.foreign).all() {
            if let Made::Program(image) = made {
                add(image, false);
            }
        }
        files.sort_by(|one, other| one.file.cmp(&other.file));
        files.truncate(PROGRAMS_TOLD_MAX);
        files.iter_mut().for_each(|file| file.plans.sort_by_key(|plan| plan.line));
        files
    }

    /// Returns all code in memory and in the cache's folder; and the bytes in that folder, with their limit.
    pub fn codes(&self) -> (Vec<CodeSeen>, Option<(u64, u64)>) {
        let mut codes: FxHashMap<CodeHash, CodeSeen> = FxHashMap::default();
        for seen in self.loaded() {
            codes.entry(seen.code).or_insert(seen);
        }
        let kept = self.cache.as_ref().map(|cache| (cache.list(), cache.bytes_max()));
        let mut bytes_kept = 0;
        for (code, form, bytes) in kept.iter().flat_map(|(list, _)| list) {
            bytes_kept += bytes;
            let seen = codes.entry(*code).or_insert_with(|| CodeSeen::kept(*code));
            match form {
                Form::Compiled => seen.compiled_bytes = Some(*bytes),
                Form::Program | Form::Module => seen.bytes = *bytes,
            }
            seen.is_module |= *form != Form::Program;
        }
        let mut codes: Vec<CodeSeen> = codes.into_values().collect();
        codes.sort_by(|one, other| {
            (other.is_loaded, &one.name, one.code).cmp(&(one.is_loaded, &other.name, other.code))
        });
        codes.truncate(CODES_TOLD_MAX);
        let hits = locked(&self.hits);
        codes.iter_mut().for_each(|seen| seen.hits = hits.get(&seen.code).copied().unwrap_or_default());
        (codes, kept.map(|(_, max)| (bytes_kept, max)))
    }

    fn loaded(&self) -> Vec<CodeSeen> {
        let seen = |code, name: String, is_module, is_own, bytes| CodeSeen {
            name: Some(name),
            is_module,
            is_own,
            is_loaded: true,
            bytes,
            ..CodeSeen::kept(code)
        };
        let mut all = Vec::new();
        for (file, own) in &*locked(&self.images) {
            let code = own.image.code.map(CodeHash);
            all.extend(code.map(|code| seen(code, self.name(file), false, true, own.bytes.len() as u64)));
        }
        for (file, own) in &*locked(&self.modules) {
            all.push(seen(CodeHash(own.sha256()), self.name(file), true, true, own.bytes().len() as u64));
        }
        for (code, made, bytes) in locked(&self.foreign).all() {
            let (name, is_module) = match made {
                Made::Program(image) => (image.name.to_string(), false),
                Made::Module(module) => (module.path().to_string(), true),
            };
            all.push(seen(code, name, is_module, false, bytes));
        }
        all
    }
}

impl CodeSeen {
    /// Describes code in the folder of which nothing else is known.
    fn kept(code: CodeHash) -> Self {
        let (name, is_module, is_own, is_loaded) = (None, false, false, false);
        Self { code, name, is_module, is_own, is_loaded, bytes: 0, compiled_bytes: None, hits: 0 }
    }
}

/// Files that programs include: beside the including file, then where programs are found.
struct ProgramIncludes<'a> {
    sources: &'a Sources,
    is_strict: bool,
}

impl Loader for ProgramIncludes<'_> {
    fn load(&mut self, path: &str, from_file: &str) -> Result<(Text, SourceText), LoadError> {
        let beside = Path::new(from_file).parent().unwrap_or(Path::new("")).join(path);
        let file = if beside.is_file() { beside } else { self.sources.find(path) };
        let source = self.sources.read(&file).map_err(|error| {
            let of_jason = path.starts_with("$jasonJar");
            let help = "; it is part of Jason: let the variable JASON_HOME name a checkout of Jason's repository";
            format!("{error}{}", if of_jason { help } else { "" })
        })?;
        Ok((Text::from(file.to_string_lossy()), source))
    }

    fn is_strict(&self) -> bool {
        self.is_strict
    }
}

/// Reads a program and its includes, as text that can be sent to a society. Also returns warnings.
///
/// # Errors
/// There is no such file, or the program has errors.
pub fn read_program(file: &Path) -> Result<(Bundle, Vec<Diagnostic>), CompileError> {
    let folder = file.parent().unwrap_or(Path::new(""));
    let sources = Sources::new(folder, []);
    let source = sources.read(file)?;
    let name = Text::from(file.to_string_lossy());
    let mut includes = ProgramIncludes { sources: &sources, is_strict: false };
    let Loaded { warnings, bundle, .. } = whimbrel_bdi::load_bundled(&source.text, &name, &mut includes)
        .map_err(|ProgramError { diagnostics }| CompileError::Errors(diagnostics))?;
    Ok((bundle, warnings))
}

/// Finds the programs of agents that are created while the society runs.
#[derive(Clone, Debug)]
pub struct SocietyLoader {
    programs: Arc<Programs>,
    environment: Option<whimbrel_acl::Aid>,
}

impl SocietyLoader {
    /// Returns a loader of these programs, whose agents act on this environment.
    pub fn new(programs: Arc<Programs>, environment: Option<whimbrel_acl::Aid>) -> Self {
        Self { programs, environment }
    }
}

impl SocietyLoader {
    /// Returns true if a program that a stranger names by path is one of the society's: in one of its folders, and not
    /// by a symbolic link.
    pub fn has_inside(&self, path: &str) -> bool {
        let sources = &self.programs.sources;
        sources.find_inside(path).is_some_and(|file| file == sources.find(path))
    }

    /// Returns the name of a program's file, as the project names it.
    pub fn name(&self, file: &str) -> String {
        self.programs.name(Path::new(file))
    }

    /// Returns the programs of the project, as operators name them: files of its folders, sorted.
    pub fn list(&self) -> Vec<String> {
        self.programs.sources.list().into_iter().filter(|name| self.has_inside(name)).take(PROGRAMS_TOLD_MAX).collect()
    }

    /// Returns the text of an AgentSpeak program of the project. `file` is its path, or its name in the project.
    pub fn text(&self, file: &str) -> Option<String> {
        let name = self.programs.name(Path::new(file));
        let is_program = Path::new(&name).extension().is_some_and(|extension| extension == "asl");
        let path = self.programs.sources.find_inside(&name).filter(|_| is_program)?;
        Some(self.programs.sources.read(&path).ok()?.text)
    }

    /// Returns the programs of agents, those of the project and those from elsewhere, with the lines of their steps.
    pub fn step_lines(&self) -> Vec<SourceLines> {
        self.programs.step_lines()
    }

    /// Returns a program of the society as it travels with agents.
    ///
    /// # Errors
    /// There is none, it has errors, or it is no AgentSpeak program.
    pub fn bundle(&self, path: &str) -> Result<Vec<u8>, CompileError> {
        if is_module(path) {
            return Err(CompileError::Module(format!(
                "{path} is a WebAssembly module: expected an AgentSpeak program"
            )));
        }
        self.programs.bundle(self.programs.sources.find(path))
    }

    /// Keeps a program that an operator gave as text, like one that came with an agent from another node. Returns its
    /// hash.
    ///
    /// # Errors
    /// The program has errors, or there is no room for it.
    pub fn admit_text(&self, name: &str, bytes: Vec<u8>) -> Result<CodeHash, FetchError> {
        let code = sha256(&bytes);
        let origin = Origin::Program { path: name.to_owned(), fingerprint: 0, code: Some(code.0) };
        self.programs.admit(&origin, bytes).map(|()| code)
    }

    /// Returns the code of this node: see [`Programs::codes`].
    pub fn codes(&self) -> (Vec<CodeSeen>, Option<(u64, u64)>) {
        self.programs.codes()
    }

    /// Returns each owner's name, and usage of quotas on this node.
    pub fn owners(&self, now: Time) -> Vec<(String, Vec<QuotaSeen>)> {
        self.programs.guests.owners(now)
    }

    fn restore_program(
        &self,
        path: &str,
        fingerprint: u64,
        code: Option<CodeHash>,
        states: &[State],
        now: Time,
    ) -> Result<Box<dyn AgentBody>, String> {
        let image = self.programs.image_for(path, code).map_err(|error| error.to_string())?;
        // What has the hash is the program.
        let is_it = code.is_some_and(|code| image.code == Some(code.0));
        if !is_it && image.fingerprint != fingerprint {
            return Err(format!("{path} has changed since the state of its agents was stored; --fresh begins anew"));
        }
        let Some((State::Whole(whole), changes)) = states.split_first() else {
            return Err("its state was not kept whole".to_owned());
        };
        let mut agent = whimbrel_bdi::Agent::restore(whole, image, now).map_err(|error| error.to_string())?;
        for change in changes {
            if let State::Delta(delta) = change {
                agent.apply_delta(delta, now).map_err(|error| error.to_string())?;
            }
        }
        agent.go_on_saving();
        Ok(Box::new(agent))
    }
}

impl ProgramLoader for SocietyLoader {
    fn kind(&self, path: &str) -> AgentKind {
        if is_module(path) { AgentKind::Wasm } else { AgentKind::AgentSpeak }
    }

    fn load(&self, _name: Symbol, path: &str, options: &[(Symbol, Value)]) -> Result<Box<dyn AgentBody>, String> {
        if is_module(path) {
            let code = self.programs.module(path).map_err(|error| error.to_string())?;
            return Ok(code.agent(options.to_vec()));
        }
        let code = options.iter().find(|(key, _)| key.as_str() == CODE).and_then(|(_, hash)| hash.as_str());
        let image = match code {
            Some(hash) => self.programs.admitted(path, hash)?,
            None => {
                let (image, warnings) = self.programs.compile(path).map_err(|error| error.to_string())?;
                self.programs.warn(&warnings);
                image
            }
        };
        let mut config = AgentConfig::new(image);
        config.environment = self.environment;
        for (key, value) in options.iter().filter(|(key, _)| key.as_str() != CODE) {
            let text = value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned);
            whimbrel_bdi::project::options::apply(&mut config, *key, &text)?;
        }
        Ok(Box::new(whimbrel_bdi::Agent::new(config)))
    }

    fn restore(
        &self,
        _name: Symbol,
        origin: &Origin,
        states: &[State],
        now: Time,
    ) -> Result<Box<dyn AgentBody>, String> {
        match origin {
            Origin::Program { path, fingerprint, .. } => {
                self.restore_program(path, *fingerprint, origin.code(), states, now)
            }
            Origin::Module { path, hash } => {
                let code = self.programs.module_for(path, CodeHash(*hash)).map_err(|error| error.to_string())?;
                code.restore(*hash, states, now)
            }
            _ => Err("it was made in Rust by another program than this one".to_owned()),
        }
    }

    fn find_code(&self, origin: &Origin) -> CodeFound {
        self.programs.find(origin)
    }

    fn recall_code(&self, origin: &Origin) -> bool {
        self.programs.recall(origin)
    }

    fn code(&self, code: CodeHash) -> Option<Arc<[u8]>> {
        self.programs.travelling(code)
    }

    fn admit_code(&self, origin: &Origin, bytes: Vec<u8>) -> Result<(), FetchError> {
        self.programs.admit(origin, bytes)
    }

    fn foreign_actions(&self) -> Option<SharedForeignActions> {
        self.programs.python.get().map(|python| -> SharedForeignActions { Arc::clone(python) as _ })
    }

    fn attach(&self, platform: Box<dyn PlatformAccess>) {
        if let Some(python) = self.programs.python.get() {
            python.attach(platform);
        }
    }

    fn read_source(&self, path: &str) -> Result<String, String> {
        let sources = &self.programs.sources;
        let file = sources.find(path);
        let source = sources.read(&file).map_err(|error| error.to_string())?;
        self.programs.warn(source.warning(&Text::from(file.to_string_lossy())).as_slice());
        Ok(source.text)
    }
}

#[cfg(test)]
mod tests {
    use whimbrel_testkit::Scratch;

    use super::*;

    /// A society with a program; beside its folder, another one.
    fn society() -> Scratch {
        Scratch::with(&[
            ("society/ann.asl", "!go. +!go <- .print(here)."),
            ("secret.asl", "!keep. +!keep <- .print(secret)."),
        ])
    }

    #[test]
    fn foreign_paths_stay_in_folder() {
        let scratch = society();
        let sources = || Sources::new(&scratch.path().join("society"), []);
        let code_of = |file: &Path| {
            let (image, _) = Programs::new(sources(), None).compile(file.to_str().unwrap()).unwrap();
            image.code
        };
        let (own, secret) = (scratch.path().join("society/ann.asl"), scratch.path().join("secret.asl"));
        let programs = Programs::new(sources(), None);
        let named = |path: &str, code| Origin::Program { path: path.to_owned(), fingerprint: 0, code };
        let outside = [
            named(secret.to_str().unwrap(), code_of(&secret)),
            named("../secret.asl", code_of(&secret)),
            named(own.to_str().unwrap(), code_of(&own)),
        ];
        for origin in &outside {
            assert!(programs.find(origin) == CodeFound::Missing && !programs.recall(origin), "{origin:?}");
        }
        assert!(locked(&programs.images).is_empty(), "they are not even read");
        for path in ["../secret.asl", "bob.asl", own.to_str().unwrap()] {
            assert_eq!(programs.find(&named(path, None)), CodeFound::Missing, "{path}");
        }
        assert_eq!(programs.find(&named("ann.asl", None)), CodeFound::Own);
        let inside = named("ann.asl", code_of(&own));
        assert_eq!(programs.find(&inside), CodeFound::Missing, "nobody has run it yet");
        assert!(!programs.recall(&named("ann.asl", code_of(&secret))), "it is another one");
        assert!(programs.recall(&inside));
        assert_eq!(programs.find(&inside), CodeFound::Own);
        // Whatever it is called elsewhere.
        assert_eq!(programs.find(&outside[2]), CodeFound::Own);
    }
}
