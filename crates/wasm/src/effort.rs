//! What it takes to compile a module, as far as that can be told before: a small one can take gigabytes and minutes.
//!
//! A compiler knows for each place of a function where each of its variables is. So its work grows with instructions times variables;
//! variables are locals, and what is on the stack of operands. Around loops it looks again at what it knows of each variable.

use wasmparser::{FuncValidator, FunctionBody, Operator, ValidatorResources};
use whimbrel_platform::limits::{
    FUNCTION_EFFORT_MAX, FUNCTION_LOCALS_MAX, FUNCTION_LOOPS_MAX, MODULE_EFFORT_MAX, MODULE_FUNCTIONS_MAX,
};

use crate::admission::{AdmissionError, invalid};

/// What an instruction takes without any variables, in variables.
const INSTRUCTION: u64 = 16;

/// What the functions of a module take together, so far.
#[derive(Default)]
pub(crate) struct Effort {
    functions: u64,
    all: u64,
}

impl Effort {
    /// Validates one more function, and adds what it takes.
    ///
    /// # Errors
    /// It is not valid, or takes too much, or all of them do.
    pub fn add(
        &mut self,
        function: &mut FuncValidator<ValidatorResources>,
        body: &FunctionBody<'_>,
    ) -> Result<(), AdmissionError> {
        self.functions += 1;
        below(None, self.functions, "functions", MODULE_FUNCTIONS_MAX)?;
        self.all += effort_of(function, body)?;
        below(None, self.all, "units of work for the compiler (instructions times variables)", MODULE_EFFORT_MAX)
    }
}

/// Validates a function; what it takes.
fn effort_of(function: &mut FuncValidator<ValidatorResources>, body: &FunctionBody<'_>) -> Result<u64, AdmissionError> {
    let index = Some(function.index());
    function.read_locals(&mut body.get_binary_reader()).map_err(invalid)?;
    let locals = u64::from(function.len_locals());
    below(index, locals, "parameters and locals", FUNCTION_LOCALS_MAX)?;
    let mut reader = body.get_operators_reader().map_err(invalid)?;
    // Each block that is open, and whether it is a loop.
    let (mut blocks, mut loops, mut effort) = (vec![false], 0, 0);
    while !reader.eof() {
        let (operator, at) = reader.read_with_offset().map_err(invalid)?;
        let before = function.operand_stack_height();
        function.op(at, &operator).map_err(invalid)?;
        match operator {
            Operator::Loop { .. } => {
                blocks.push(true);
                loops += 1;
            }
            Operator::Block { .. } | Operator::If { .. } => blocks.push(false),
            Operator::End => loops -= u64::from(blocks.pop().unwrap_or_default()),
            _ => {}
        }
        below(index, loops, "loops around each other", FUNCTION_LOOPS_MAX)?;
        let variables = INSTRUCTION + locals + u64::from(before.max(function.operand_stack_height()));
        effort += ways(&operator) * variables * (1 + 2 * loops);
        below(index, effort, "units of work for the compiler (instructions times variables)", FUNCTION_EFFORT_MAX)?;
    }
    reader.finish().map_err(invalid)?;
    Ok(effort)
}

/// Where an instruction can lead to: it counts once for each.
fn ways(operator: &Operator<'_>) -> u64 {
    match operator {
        Operator::BrTable { targets } => 1 + u64::from(targets.len()),
        _ => 1,
    }
}

fn below(function: Option<u32>, found: u64, what: &'static str, max: u64) -> Result<(), AdmissionError> {
    if found > max { Err(AdmissionError::Effort { function, found, what, max }) } else { Ok(()) }
}
