//! Calls of Python functions that the project's `actions.py` does not have, or not with these arguments.

use std::ops::RangeInclusive;

use whimbrel_bdi::syntax::{Diagnostic, nearest};
use whimbrel_platform::foreign_actions::{ACTIONS_FILE, PREFIX};

use crate::society::{CalledAction, MemberProgram, PythonFunctions, SocietyText};

/// Finds calls that surely fail. Parts of the file that only its execution shows raise no warning.
pub(super) fn find(society: &SocietyText, program: &MemberProgram) -> Vec<Diagnostic> {
    let Some(functions) = &society.python else { return Vec::new() };
    program.occurrences.foreign_calls().filter_map(|call| warning(functions, call)).collect()
}

fn warning(functions: &PythonFunctions, call: &CalledAction) -> Option<Diagnostic> {
    let name = call.name.as_str().strip_prefix(PREFIX)?;
    let warning = |message: String, label: &str, help: String| {
        let warning = Diagnostic::warning(&call.file, call.span, message, label);
        Some(warning.with_code("python-action").with_help(help))
    };
    if functions.lacks(name) {
        let help = match nearest(name, functions.names()) {
            Some(like) => format!("did you mean `{PREFIX}{like}`?"),
            None => format!("define it in {ACTIONS_FILE}: `def {name}(...):`"),
        };
        return warning(format!("{ACTIONS_FILE} has no function `{name}`"), "the call fails", help);
    }
    let arities = functions.arities(name)?;
    if arities.allow(call.args.len()) {
        return None;
    }
    let message = format!(
        "`{PREFIX}{name}` takes {} with its results, and the call has {}",
        counted(&arities.bounds()),
        call.args.len()
    );
    let help = "the first arguments are the function's parameters; the last ones take what it returns".to_owned();
    warning(message, "the call fails", help)
}

/// Returns `2 arguments` or `1 to 3 arguments`.
fn counted(bounds: &RangeInclusive<usize>) -> String {
    match (*bounds.start(), *bounds.end()) {
        (least, usize::MAX) => format!("at least {least} arguments"),
        (1, 1) => "1 argument".to_owned(),
        (least, most) if least == most => format!("{least} arguments"),
        (least, most) => format!("{least} to {most} arguments"),
    }
}
