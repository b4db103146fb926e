//! Python parts of a project, as its file and its folder name them.

use std::path::{Path, PathBuf};

use whimbrel_acl::{Symbol, Value};
use whimbrel_bdi::project::{Class, ClassArg};
use whimbrel_platform::foreign_actions::ACTIONS_FILE;

use super::PythonSetup;

/// Name of the class of an environment in Python: `py("env.py")`.
const CLASS: &str = "py";

/// Returns true for the class of an environment in Python.
pub fn is_python(class: &Class) -> bool {
    *class.name == *CLASS
}

/// Returns the Python parts of a project in `folder`: its environment, if it has one in Python, and its actions.
///
/// # Errors
/// The class of the environment names no file; contains the fault.
pub fn setup_of(
    environment: Option<&Class>,
    folder: &Path,
    find: &dyn Fn(&str) -> PathBuf,
) -> Result<PythonSetup, String> {
    let environment = environment.map(|class| file_of(class, find)).transpose()?;
    let actions = folder.join(ACTIONS_FILE);
    Ok(PythonSetup { folder: folder.to_owned(), environment, actions: actions.is_file().then_some(actions) })
}

fn file_of(class: &Class, find: &dyn Fn(&str) -> PathBuf) -> Result<(PathBuf, Vec<Value>), String> {
    let Some((ClassArg::Str(name), more)) = class.args.split_first() else {
        return Err("an environment in Python is a file: `environment: py(\"env.py\")`".to_owned());
    };
    let file = find(name);
    if !file.is_file() {
        return Err(format!("there is no file {}", file.display()));
    }
    Ok((file, more.iter().map(value_of).collect()))
}

fn value_of(arg: &ClassArg) -> Value {
    match arg {
        ClassArg::Num(number) => Value::Num(*number),
        ClassArg::Str(text) => Value::Str(text.clone()),
        ClassArg::List(items) => Value::list(items.iter().map(value_of).collect::<Vec<_>>()),
        ClassArg::Class(class) if class.args.is_empty() => Value::Atom(Symbol::new(&class.name)),
        ClassArg::Class(class) => {
            Value::term(Symbol::new(&class.name), class.args.iter().map(value_of).collect::<Vec<_>>())
        }
    }
}
