//! Admission of a module, once, before it is compiled. The checks ensure that its agents can be kept as bytes and
//! continue elsewhere. The module is changed so that all of an agent's state can be reached from outside.

use ring::digest::{SHA256, digest};
use wasm_encoder::{ExportKind, ExportSection, RawSection};
use wasmparser::{
    CompositeInnerType, ExternalKind, FuncType, FuncValidatorAllocations, GlobalType, Operator, Parser, Payload,
    TypeRef, ValidPayload, Validator, WasmFeatures,
};

use whimbrel_platform::limits::{MODULE_BYTES_MAX, MODULE_GLOBALS_MAX};

use crate::abi;
use crate::compile_cost::CompileCost;

/// Hash of a module: SHA-256 of its bytes before admission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ModuleHash(pub [u8; 32]);

impl ModuleHash {
    /// Computes the hash of these bytes.
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

/// Error of admitting a module.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AdmissionError {
    /// The module is longer than [`MODULE_BYTES_MAX`].
    #[error("module too long: {0} bytes, the limit is {MODULE_BYTES_MAX}")]
    TooLong(usize),
    /// The module is invalid, or uses an unsupported feature: threads, several memories, exceptions, garbage
    /// collection.
    #[error("unsupported module: {0}")]
    Invalid(String),
    /// The module lacks an export, or has it with another type.
    #[error("it does not export `{name}` as {expected}")]
    Export {
        /// Name of the export.
        name: &'static str,
        /// Type that the export should have.
        expected: &'static str,
    },
    /// The module was written for another version of the interface.
    #[error("it was written for version {0} of the interface; this is version {version}", version = abi::VERSION)]
    Version(i32),
    /// The module has an import that the node does not offer.
    #[error("it imports `{0}`, which does not exist: see docs/design/wasm-agents.md")]
    Import(String),
    /// The module waits in mid-call, but cannot be suspended there.
    #[error(
        "it imports `whim.{0}`, which suspends it in the middle of a call, and was not prepared for that: \
         `whimbrel agent build` does so (by wasm-opt --asyncify)"
    )]
    Unprepared(String),
    /// The state of the module's agents could not be captured, for this reason.
    #[error("its state cannot be captured: {0}")]
    Uncapturable(String),
    /// The module would take too much time and memory to compile.
    #[error("{}has {found} {what}, the limit is {max}", function.map_or("it ".to_owned(), |index| format!("its function {index} ")))]
    CompileCost {
        /// Index of the function at fault, imports included; `None` for the module as a whole.
        function: Option<u32>,
        /// Number that was found.
        found: u64,
        /// Unit that is limited.
        what: &'static str,
        /// Limit.
        max: u64,
    },
    /// The module failed when it was instantiated, or in `whim_abi`.
    #[error("it cannot be instantiated: {0}")]
    Instantiation(String),
}

/// Mutable global of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MutableGlobal {
    /// Name under which the global is exported.
    pub export: String,
    /// True for eight bytes, false for four.
    pub is_wide: bool,
}

/// Admitted module.
#[derive(Debug)]
pub(crate) struct Admitted {
    /// Bytes of the module, with all mutable globals exported.
    pub bytes: Vec<u8>,
    pub hash: ModuleHash,
    pub globals: Vec<MutableGlobal>,
    /// Index of the global that points to the top of the stack. The stack grows down to address 0 and is dead above
    /// the top.
    pub stack_pointer: Option<usize>,
    /// True if guests can be suspended in the middle of a call.
    pub suspends: bool,
}

/// Name of the exported stack pointer, as LLVM's linker writes it.
const STACK_POINTER: &str = "__stack_pointer";

/// Findings about a module while it is read.
#[derive(Default)]
struct Findings {
    /// Globals by index: of mutable ones whether they are wide, `None` for others.
    globals: Vec<Option<bool>>,
    exports: Vec<(String, ExternalKind, u32)>,
    /// Types by index; `None` for types other than functions.
    types: Vec<Option<FuncType>>,
    /// Types of the functions, by index.
    functions: Vec<u32>,
    imported_functions: usize,
    suspending: Option<String>,
}

/// Checks a module and exports its mutable globals.
///
/// # Errors
/// The module cannot run here.
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

/// Checks that the module is valid, and does not take too much to compile.
fn validate(bytes: &[u8]) -> Result<(), AdmissionError> {
    let mut validator = Validator::new_with_features(features());
    let (mut cost, mut allocations) = (CompileCost::default(), FuncValidatorAllocations::default());
    for payload in Parser::new(0).parse_all(bytes) {
        match validator.payload(&payload.map_err(invalid)?).map_err(invalid)? {
            ValidPayload::Func(function, body) => {
                let mut function = function.into_validator(allocations);
                cost.add(&mut function, &body)?;
                allocations = function.into_allocations();
            }
            ValidPayload::Parser(_) => return Err(AdmissionError::Invalid("a component, not a module".to_owned())),
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
                return Err(AdmissionError::Uncapturable(format!(
                    "it has a mutable global that is not a number, but {other}"
                )));
            }
            _ => false,
        };
        self.globals.push(kind.mutable.then_some(is_wide));
        Ok(())
    }

    /// Returns the type of the function that is exported by this name.
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

    /// Returns the mutable globals with their exported names, and the indices of those that are not exported yet.
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
            let why = format!("it has {} mutable globals, the limit is {MODULE_GLOBALS_MAX}", globals.len());
            return Err(AdmissionError::Uncapturable(why));
        }
        Ok((globals, unexported))
    }
}

fn name_of_global(index: u32) -> String {
    format!("whim:g{index}")
}

/// Refuses an operator that changes state outside the memory and the globals.
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

/// Rewrites the module so that it exports these globals, too.
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
