//! Python interpreter of a node: which one, and how its process begins.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

/// Exit status of a process whose Python has no package `whimbrel`.
const NO_PACKAGE: i32 = 86;
/// Exit status of a process whose package `whimbrel` has no module for this.
const OLD_PACKAGE: i32 = 87;

/// First lines that the interpreter runs. The folder of the node is no place for modules: it may have any files.
const BOOTSTRAP: &str = "
import sys
sys.path[:] = [place for place in sys.path if place]
try:
    from whimbrel.environment.host import main
except ModuleNotFoundError as error:
    if error.name not in ('whimbrel', 'whimbrel.environment', 'whimbrel.environment.host'):
        raise
    sys.exit(86 if error.name == 'whimbrel' else 87)
main()
";

/// Returns the interpreter: `WHIMBREL_PYTHON`, that of an active virtual environment, or the system's.
pub fn interpreter() -> PathBuf {
    chosen(&|name| std::env::var_os(name).filter(|value| !value.is_empty()))
}

fn chosen(variable: &dyn Fn(&str) -> Option<OsString>) -> PathBuf {
    let of_venv = |folder: OsString| {
        let folder = Path::new(&folder).to_owned();
        if cfg!(windows) { folder.join("Scripts").join("python.exe") } else { folder.join("bin").join("python") }
    };
    let system = if cfg!(windows) { "python" } else { "python3" };
    let named = variable("WHIMBREL_PYTHON").map(PathBuf::from);
    named.or_else(|| variable("VIRTUAL_ENV").map(of_venv)).unwrap_or_else(|| PathBuf::from(system))
}

/// Starts a process that speaks frames over its standard input and output.
///
/// # Errors
/// The interpreter cannot be started; contains what to do.
pub fn start(interpreter: &Path) -> Result<Child, String> {
    let mut command = Command::new(interpreter);
    command.args(["-c", BOOTSTRAP]).env("PYTHONUNBUFFERED", "1").stdin(Stdio::piped()).stdout(Stdio::piped());
    command.spawn().map_err(|error| {
        format!(
            "Python cannot be started as {}: {error}: install Python 3.10 or later, activate a virtual environment, or \
             let WHIMBREL_PYTHON name an interpreter",
            interpreter.display()
        )
    })
}

/// Returns the reason why another start would end in the same way, if that is so.
pub fn is_hopeless(status: Option<ExitStatus>, interpreter: &Path) -> Option<String> {
    let package = match status?.code()? {
        NO_PACKAGE => "has no package whimbrel: pip install whimbrel",
        OLD_PACKAGE => "has a package whimbrel without environments: pip install --upgrade whimbrel",
        _ => return None,
    };
    Some(format!("{} {package}", interpreter.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interpreter_prefers_own_variable() {
        let with = |names: &'static [(&'static str, &'static str)]| {
            let variable =
                move |name: &str| names.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).into());
            chosen(&variable)
        };
        assert_eq!(with(&[("WHIMBREL_PYTHON", "/p/python"), ("VIRTUAL_ENV", "/v")]), Path::new("/p/python"));
        assert!(with(&[("VIRTUAL_ENV", "/v")]).starts_with("/v"));
        assert!(with(&[]).is_relative());
    }
}
