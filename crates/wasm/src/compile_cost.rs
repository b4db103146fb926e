//! Cost of compiling a module, as far as it can be estimated before. A small module can take gigabytes and minutes.
//!
//! For each place of a function, a compiler tracks the location of each variable. So its work grows with instructions
//! times variables. Variables are locals, and the operands on the stack. Around loops the compiler visits each
//! variable again.

use wasmparser::{FuncValidator, FunctionBody, Operator, ValidatorResources};
use whimbrel_platform::limits::{
    FUNCTION_EFFORT_MAX, FUNCTION_LOCALS_MAX, FUNCTION_LOOPS_MAX, MODULE_EFFORT_MAX, MODULE_FUNCTIONS_MAX,
};

use crate::admission::{AdmissionError, invalid};

/// Cost of an instruction without any variables, in variables.
const INSTRUCTION: u64 = 16;

/// Cost of the functions of a module so far.
#[derive(Default)]
pub(crate) struct CompileCost {
    functions: u64,
    all: u64,
}

impl CompileCost {
    /// Validates one more function, and adds its cost.
    ///
    /// # Errors
    /// The function is not valid, or its cost or the module's is too high.
    pub fn add(
        &mut self,
        function: &mut FuncValidator<ValidatorResources>,
        body: &FunctionBody<'_>,
    ) -> Result<(), AdmissionError> {
        self.functions += 1;
        below(None, self.functions, "functions", MODULE_FUNCTIONS_MAX)?;
        self.all += cost_of(function, body)?;
        below(None, self.all, "units of work for the compiler (instructions times variables)", MODULE_EFFORT_MAX)
    }
}

/// Validates a function, and returns its cost.
fn cost_of(function: &mut FuncValidator<ValidatorResources>, body: &FunctionBody<'_>) -> Result<u64, AdmissionError> {
    let index = Some(function.index());
    function.read_locals(&mut body.get_binary_reader()).map_err(invalid)?;
    let locals = u64::from(function.len_locals());
    below(index, locals, "parameters and locals", FUNCTION_LOCALS_MAX)?;
    let mut reader = body.get_operators_reader().map_err(invalid)?;
    // Open blocks: true for a loop.
    let (mut blocks, mut loops, mut cost) = (vec![false], 0, 0);
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
        below(index, loops, "nested loops", FUNCTION_LOOPS_MAX)?;
        let variables = INSTRUCTION + locals + u64::from(before.max(function.operand_stack_height()));
        cost += ways(&operator) * variables * (1 + 2 * loops);
        below(index, cost, "units of work for the compiler (instructions times variables)", FUNCTION_EFFORT_MAX)?;
    }
    reader.finish().map_err(invalid)?;
    Ok(cost)
}

/// Returns the number of successors of an instruction, each of which counts.
fn ways(operator: &Operator<'_>) -> u64 {
    match operator {
        Operator::BrTable { targets } => 1 + u64::from(targets.len()),
        _ => 1,
    }
}

fn below(function: Option<u32>, found: u64, what: &'static str, max: u64) -> Result<(), AdmissionError> {
    if found > max { Err(AdmissionError::CompileCost { function, found, what, max }) } else { Ok(()) }
}
