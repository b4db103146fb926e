//! What a module has to be so that its agents can be kept as bytes and continued elsewhere: checked once, before it is
//! compiled, and changed so that all of an agent's state can be reached from outside.

use ring::digest::{SHA256, digest};
use wasm_encoder::{ExportKind, ExportSection, RawSection};
use wasmparser::{
    CompositeInnerType, ExternalKind, FuncType, FuncValidatorAllocations, GlobalType, Operator, Parser, Payload,
    TypeRef, ValidPayload, Validator, WasmFeatures,
};

use whimbrel_platform::limits::{MODULE_BYTES_MAX, MODULE_GLOBALS_MAX};

use crate::abi;
use crate::effort::Effort;

/// What a module is known by: SHA-256 of its bytes, as they were before admission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ModuleHash(pub [u8; 32]);

impl ModuleHash {
    /// The hash of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        let mut hash = [0; 32];
        hash.copy_from_slice(digest(&SHA256, bytes).as_ref());
        Self(hash)
    }
}

impl std::fmt::Display for ModuleHash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Why a module is not admitted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AdmissionError {
    /// It is longer than [`MODULE_BYTES_MAX`].
    #[error("a module of {0} bytes: {MODULE_BYTES_MAX} are the most")]
    TooLong(usize),
    /// It is no valid module, or uses what is not supported (threads, several memories, exceptions, garbage collection).
    #[error("no module that can run here: {0}")]
    Invalid(String),
    /// It lacks an export, or has it with another type.
    #[error("it does not export `{name}` as {expected}")]
    Export {
        /// The export.
        name: &'static str,
        /// What it should be.
        expected: &'static str,
    },
    /// It was written for another version of the interface.
    #[error("it was written for version {0} of the interface; this is version {version}", version = abi::VERSION)]
    Version(i32),
    /// It wants something that the node does not offer.
    #[error("it imports `{0}`, which is not offered: see docs/design/wasm-agents.md for what is")]
    Import(String),
    /// It waits in mid-call, and cannot be suspended there.
    #[error(
        "it imports `whim.{0}`, which suspends it in the middle of a call, and was not prepared for that: \
         `whimbrel agent build` does so (by wasm-opt --asyncify)"
    )]
    Unprepared(String),
    /// Its state could not be captured: why.
    #[error("its state cannot be captured: {0}")]
    Uncapturable(String),
    /// To compile it would take too much of the node's time and memory: which of its functions does, if one does, and what is too much.
    #[error("{}has {found} {what}: {max} are the most", function.map_or("it ".to_owned(), |index| format!("its function {index} ")))]
    Effort {
        /// The function, by its index among all of the module, with those that it imports.
        function: Option<u32>,
        /// How many.
        found: u64,
        /// Of what.
        what: &'static str,
        /// How many it may have.
        max: u64,
    },
    /// It failed before it was an agent: when it was instantiated, or in `whim_abi`.
    #[error("it cannot be instantiated: {0}")]
    Instantiation(String),
}

/// A mutable global.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MutableGlobal {
    /// What it is exported as.
    pub export: String,
    /// Whether it takes eight bytes, or four.
    pub is_wide: bool,
}

/// A module that may run here.
#[derive(Debug)]
pub(crate) struct Admitted {
    /// The module, with all mutable globals exported.
    pub bytes: Vec<u8>,
    pub hash: ModuleHash,
    pub globals: Vec<MutableGlobal>,
    /// Which of the globals points to the top of a stack that grows down to address 0 and is dead above it.
    pub stack_pointer: Option<usize>,
    /// Whether it can be suspended in the middle of a call.
    pub suspends: bool,
}

/// What LLVM's linker calls the global that points to the top of the stack, if it is told to export it.
const STACK_POINTER: &str = "__stack_pointer";

/// What is found while a module is read.
#[derive(Default)]
struct Findings {
    /// By index: those that are mutable with whether they are wide.
    globals: Vec<Option<bool>>,
    exports: Vec<(String, ExternalKind, u32)>,
    /// Types by index, `None` for those that are no functions'.
    types: Vec<Option<FuncType>>,
    /// The types of functions by index.
    functions: Vec<u32>,
    imported_functions: usize,
    suspending: Option<String>,
}

/// Checks a module and exports its mutable globals.
///
/// # Errors
/// It cannot be an agent here.
pub(crate) fn admit(bytes: &[u8]) -> Result<Admitted, AdmissionError> {
    if bytes.len() > MODULE_BYTES_MAX {
        return Err(AdmissionError::TooLong(bytes.len()));
    }
    validate(bytes)?;
    let findings = Findings::read(bytes)?;
    findings.check_exports()?;
    let suspends = findings.function("asyncify_start_unwind").is_some();
    if let Some(name) = findings.suspending.as_ref().filter(|_| !suspends) {
        return Err(AdmissionError::Unprepared(name.clone()));
    }
    let (globals, unexported) = findings.mutable_globals()?;
    let stack_pointer = globals.iter().position(|global| global.export == STACK_POINTER && !global.is_wide);
    let bytes_out = if unexported.is_empty() { bytes.to_vec() } else { export(bytes, &findings, &unexported)? };
    Ok(Admitted { bytes: bytes_out, hash: ModuleHash::of(bytes), globals, stack_pointer, suspends })
}

pub(crate) fn invalid(error: wasmparser::BinaryReaderError) -> AdmissionError {
    let what = error.message().lines().next().unwrap_or_default().trim_end_matches([':', '[', '=', ' ']);
    AdmissionError::Invalid(format!("{what} (byte {})", error.offset()))
}

/// Checks that it is a module, and that it does not take much to compile it.
fn validate(bytes: &[u8]) -> Result<(), AdmissionError> {
    let mut validator = Validator::new_with_features(features());
    let (mut effort, mut allocations) = (Effort::default(), FuncValidatorAllocations::default());
    for payload in Parser::new(0).parse_all(bytes) {
        match validator.payload(&payload.map_err(invalid)?).map_err(invalid)? {
            ValidPayload::Func(function, body) => {
                let mut function = function.into_validator(allocations);
                effort.add(&mut function, &body)?;
                allocations = function.into_allocations();
            }
            ValidPayload::Parser(_) => return Err(AdmissionError::Invalid("no module, but a component".to_owned())),
            ValidPayload::Ok | ValidPayload::End(_) => {}
        }
    }
    Ok(())
}

fn features() -> WasmFeatures {
    WasmFeatures::MVP
        | WasmFeatures::MUTABLE_GLOBAL
        | WasmFeatures::SATURATING_FLOAT_TO_INT
        | WasmFeatures::SIGN_EXTENSION
        | WasmFeatures::REFERENCE_TYPES
        | WasmFeatures::MULTI_VALUE
        | WasmFeatures::BULK_MEMORY
        | WasmFeatures::SIMD
}

impl Findings {
    fn read(bytes: &[u8]) -> Result<Self, AdmissionError> {
        let mut findings = Self::default();
        for payload in Parser::new(0).parse_all(bytes) {
            findings.note(payload.map_err(invalid)?)?;
        }
        Ok(findings)
    }

    fn note(&mut self, payload: Payload<'_>) -> Result<(), AdmissionError> {
        match payload {
            Payload::TypeSection(types) => {
                for group in types {
                    for kind in group.map_err(invalid)?.into_types() {
                        self.types.push(match kind.composite_type.inner {
                            CompositeInnerType::Func(function) => Some(function),
                            _ => None,
                        });
                    }
                }
            }
            Payload::ImportSection(imports) => {
                for import in imports.into_imports() {
                    let import = import.map_err(invalid)?;
                    self.note_import(import.module, import.name, import.ty)?;
                }
            }
            Payload::FunctionSection(functions) => {
                for function in functions {
                    self.functions.push(function.map_err(invalid)?);
                }
            }
            Payload::GlobalSection(globals) => {
                for global in globals {
                    self.note_global(global.map_err(invalid)?.ty)?;
                }
            }
            Payload::ExportSection(exports) => {
                for export in exports {
                    let export = export.map_err(invalid)?;
                    self.exports.push((export.name.to_owned(), export.kind, export.index));
                }
            }
            Payload::CodeSectionEntry(body) => {
                for operator in body.get_operators_reader().map_err(invalid)? {
                    check(&operator.map_err(invalid)?)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn note_import(&mut self, module: &str, name: &str, kind: TypeRef) -> Result<(), AdmissionError> {
        let (TypeRef::Func(kind), abi::MODULE) = (kind, module) else {
            return Err(AdmissionError::Import(format!("{module}.{name}")));
        };
        if !abi::IMPORTS.contains(&name) {
            return Err(AdmissionError::Import(format!("{module}.{name}")));
        }
        if abi::SUSPENDING.contains(&name) {
            self.suspending = Some(name.to_owned());
        }
        self.functions.push(kind);
        self.imported_functions += 1;
        Ok(())
    }

    fn note_global(&mut self, kind: GlobalType) -> Result<(), AdmissionError> {
        use wasmparser::ValType::{F32, F64, I32, I64};
        let is_wide = match kind.content_type {
            I32 | F32 => false,
            I64 | F64 => true,
            other if kind.mutable => {
                return Err(AdmissionError::Uncapturable(format!("it has a mutable global of type {other}")));
            }
            _ => false,
        };
        self.globals.push(kind.mutable.then_some(is_wide));
        Ok(())
    }

    /// The type of the function that is exported by this name.
    fn function(&self, name: &str) -> Option<&FuncType> {
        let (.., index) =
            self.exports.iter().find(|(export, kind, _)| export == name && *kind == ExternalKind::Func)?;
        let kind = self.functions.get(*index as usize)?;
        self.types.get(*kind as usize)?.as_ref()
    }

    fn check_exports(&self) -> Result<(), AdmissionError> {
        if !self.exports.iter().any(|(name, kind, _)| name == abi::MEMORY && *kind == ExternalKind::Memory) {
            return Err(AdmissionError::Export { name: abi::MEMORY, expected: "a memory" });
        }
        for export in abi::EXPORTS {
            let wanted = AdmissionError::Export { name: export.name, expected: export.signature };
            match self.function(export.name) {
                Some(found) if export.fits(found) => {}
                None if export.is_optional && !self.exports.iter().any(|(name, ..)| name == export.name) => {}
                _ => return Err(wanted),
            }
        }
        Ok(())
    }

    /// The mutable globals with what they are exported as, and which of them are not yet.
    fn mutable_globals(&self) -> Result<(Vec<MutableGlobal>, Vec<u32>), AdmissionError> {
        let (mut globals, mut unexported) = (Vec::new(), Vec::new());
        for (index, is_wide) in (0u32..).zip(&self.globals) {
            let Some(is_wide) = is_wide else { continue };
            let exported = self.exports.iter().find(|(_, kind, of)| *kind == ExternalKind::Global && *of == index);
            if exported.is_none() {
                unexported.push(index);
            }
            let export = exported.map_or_else(|| name_of_global(index), |(name, ..)| name.clone());
            globals.push(MutableGlobal { export, is_wide: *is_wide });
        }
        if globals.len() > MODULE_GLOBALS_MAX {
            let why = format!("it has {} mutable globals, {MODULE_GLOBALS_MAX} are the most", globals.len());
            return Err(AdmissionError::Uncapturable(why));
        }
        Ok((globals, unexported))
    }
}

fn name_of_global(index: u32) -> String {
    format!("whim:g{index}")
}

/// Refuses what changes state that is neither in the memory nor in a global.
fn check(operator: &Operator<'_>) -> Result<(), AdmissionError> {
    let what = match operator {
        Operator::TableSet { .. }
        | Operator::TableGrow { .. }
        | Operator::TableFill { .. }
        | Operator::TableCopy { .. }
        | Operator::TableInit { .. } => "changes a table",
        Operator::DataDrop { .. } | Operator::ElemDrop { .. } => "drops a segment",
        _ => return Ok(()),
    };
    Err(AdmissionError::Uncapturable(format!("it {what}")))
}

/// The module with these globals exported, too.
fn export(bytes: &[u8], findings: &Findings, globals: &[u32]) -> Result<Vec<u8>, AdmissionError> {
    const EXPORT_SECTION: u8 = 7;
    let mut section = ExportSection::new();
    for (name, kind, index) in &findings.exports {
        section.export(name, ExportKind::from(*kind), *index);
    }
    for index in globals {
        let name = name_of_global(*index);
        if findings.exports.iter().any(|(taken, ..)| *taken == name) {
            return Err(AdmissionError::Uncapturable(format!("it exports something as `{name}`")));
        }
        section.export(&name, ExportKind::Global, *index);
    }
    let mut module = wasm_encoder::Module::new();
    for payload in Parser::new(0).parse_all(bytes) {
        let Some((id, range)) = payload.map_err(invalid)?.as_section() else { continue };
        if id == EXPORT_SECTION {
            module.section(&section);
        } else {
            let data = bytes.get(range).unwrap_or_default();
            module.section(&RawSection { id, data });
        }
    }
    Ok(module.finish())
}
