//! Queries about the agent's platform.

use whimbrel_acl::{Aid, Value, sym};
use whimbrel_platform::topics;

use super::{Outcome, patterns, text_of};
use crate::prover::{ActionCall, Failure};

/// Release of Jason that defines the language.
const JASON_VERSION: &str = "3.3.0";

/// `.version(V)`
pub fn version(call: &mut ActionCall<'_, '_>) -> Outcome {
    call.unify(0, &Value::from(JASON_VERSION))
}

/// `.my_name(N)`
pub fn my_name(call: &mut ActionCall<'_, '_>) -> Outcome {
    let name = call.solver.known.aid.name;
    call.unify(0, &Value::Atom(name))
}

/// `.node(N)`: fails where places have no names.
pub fn node(call: &mut ActionCall<'_, '_>) -> Outcome {
    match call.solver.known.services.node() {
        sym::EMPTY => Err(Failure::new("no_such_node", "this place has no name")),
        node => call.unify(0, &Value::Atom(node)),
    }
}

/// `.nodes(List)`
pub fn nodes(call: &mut ActionCall<'_, '_>) -> Outcome {
    let nodes = call.solver.known.services.nodes();
    call.unify(0, &Value::list(nodes.into_iter().map(Value::Atom).collect::<Vec<_>>()))
}

/// Returns the names by which a program knows agents: local ones if they are on this platform.
fn names(call: &ActionCall<'_, '_>, agents: Vec<Aid>) -> Value {
    let home = call.solver.known.services.platform();
    let name = |aid: Aid| {
        if aid.platform == sym::EMPTY || aid.platform == home {
            Value::Atom(aid.name)
        } else {
            Value::atom(aid.to_string().as_str())
        }
    };
    Value::list(agents.into_iter().map(name).collect::<Vec<_>>())
}

/// `.all_names(List)`
pub fn all_names(call: &mut ActionCall<'_, '_>) -> Outcome {
    let names = names(call, call.solver.known.services.agents());
    call.unify(0, &names)
}

/// `.list_files(Folder [, Pattern], List)`: the files in a folder and its subfolders whose names match.
pub fn list_files(call: &mut ActionCall<'_, '_>) -> Outcome {
    let folder = text_of(call.arg(0)).into_owned();
    let last = call.args.len().saturating_sub(1);
    let mut files = call.solver.known.services.list_files(&folder);
    if last > 1 {
        let Value::Str(pattern) = call.arg(1) else { return Err(call.wrong("second argument must be a string")) };
        let name = |file: &str| file.rsplit('/').next().unwrap_or_default().to_owned();
        files.retain(|file| patterns::matches(&name(file), pattern) == Some(true));
    }
    let files = Value::list(files.into_iter().map(Value::from).collect::<Vec<_>>());
    call.unify(last, &files)
}

/// `.df_search(Service [, Type], List)`
pub fn df_search(call: &mut ActionCall<'_, '_>) -> Outcome {
    let last = call.args.len().saturating_sub(1);
    let kind = if last > 1 { text_of(call.arg(1)) } else { "".into() };
    let found = call.solver.known.services.df_search(&text_of(call.arg(0)), &kind);
    let names = names(call, found);
    call.unify(last, &names)
}

/// `.group_members(Group, List)`
pub fn group_members(call: &mut ActionCall<'_, '_>) -> Outcome {
    let group = topics::group(&text_of(call.arg(0))).map_err(|error| call.wrong(&error.to_string()))?;
    let members = names(call, call.solver.known.services.members(group));
    call.unify(1, &members)
}
