//! `whimbrel new`: a folder with a small society in it that runs.

use std::fmt::Write;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, bail};

use crate::arguments::{Language, NewArguments};
use crate::examples::example_files;
use crate::guest_sdk::GUEST_CRATE;
use whimbrel_terminal::screen::print;

/// A file of a scaffold: name and text. In those that are no code `NAME` stands for the project's name.
type File = (&'static str, &'static str);

/// A gardener and flowers, in AgentSpeak.
const GARDEN: [File; 4] = [
    ("NAME.mas2j", include_str!("../scaffold/project.mas2j")),
    ("gardener.asl", include_str!("../scaffold/gardener.asl")),
    ("flower.asl", include_str!("../scaffold/flower.asl")),
    ("README.md", include_str!("../scaffold/README.md")),
];

/// A pupil, and a README that tells how calculators are built of `PROGRAM`.
const SCHOOL: [File; 3] = [
    ("NAME.mas2j", include_str!("../scaffold/wasm/project.mas2j")),
    ("pupil.asl", include_str!("../scaffold/wasm/pupil.asl")),
    ("README.md", include_str!("../scaffold/wasm/README.md")),
];

/// The calculators, by language.
const RUST: [File; 2] = [
    ("calculator/Cargo.toml", include_str!("../scaffold/wasm/Cargo.toml")),
    ("calculator/src/lib.rs", include_str!("../scaffold/wasm/calculator.rs")),
];
const ASSEMBLYSCRIPT: [File; 1] = [("calculator.ts", include_str!("../scaffold/wasm/calculator.ts"))];
const C: [File; 1] = [("calculator.c", include_str!("../scaffold/wasm/calculator.c"))];

/// Makes the folder.
pub fn new(arguments: &NewArguments) -> anyhow::Result<ExitCode> {
    let folder = &arguments.name;
    let name = project_name(folder)?;
    if folder.exists() {
        bail!("{} exists already; choose another name", folder.display());
    }
    #[cfg(not(feature = "wasm"))]
    if arguments.wasm.is_some() {
        bail!("cannot make a society with WebAssembly agents: {}", whimbrel::build_parts::WASM_ABSENT);
    }
    if let Some(example) = &arguments.example {
        return copy_example(example, folder);
    }
    let (project, code, program): (&[File], &[File], &str) = match arguments.wasm {
        None => (&GARDEN, &[], ""),
        Some(Language::Rust) => (&SCHOOL, &RUST, "calculator"),
        Some(Language::AssemblyScript) => (&SCHOOL, &ASSEMBLYSCRIPT, "calculator.ts"),
        Some(Language::C) => (&SCHOOL, &C, "calculator.c"),
    };
    let library: &[File] = if matches!(arguments.wasm, Some(Language::Rust)) { GUEST_CRATE } else { &[] };
    let library = library.iter().map(|(file, text)| (format!("calculator/{file}"), (*text).to_owned()));
    let project = project
        .iter()
        .map(|(file, text)| (file.replace("NAME", &name), text.replace("NAME", &name).replace("PROGRAM", program)));
    let code = code.iter().map(|(file, text)| ((*file).to_owned(), (*text).to_owned()));
    write_all(folder, project.chain(code).chain(library))?;
    say_made(folder, program, &missing_tools(arguments.wasm))?;
    Ok(ExitCode::SUCCESS)
}

/// Makes a folder with a copy of an example.
fn copy_example(name: &str, folder: &Path) -> anyhow::Result<ExitCode> {
    let (place, copied) = (format!("examples/{name}"), folder.to_string_lossy());
    let files = example_files(name)?.into_iter().map(|(file, bytes)| {
        // Commands in the README name the folder of the example.
        let text = std::str::from_utf8(bytes).ok().filter(|_| file == "README.md");
        let content = text.map_or_else(|| bytes.to_vec(), |text| text.replace(&place, &copied).into_bytes());
        (file, content)
    });
    write_all(folder, files)?;
    let shown = quoted(&folder.to_string_lossy());
    print(&format!("Made {}: a copy of the example {name}. Its README.md says how to run it.", shown))?;
    Ok(ExitCode::SUCCESS)
}

/// Writes all files of a new folder, or leaves no folder.
fn write_all(folder: &Path, files: impl Iterator<Item = (impl AsRef<Path>, impl AsRef<[u8]>)>) -> anyhow::Result<()> {
    for (file, content) in files {
        if let Err(error) = write(&folder.join(file), content.as_ref()) {
            // It was not there before. Half a society is of no use, and in the way of the next try.
            let _ = std::fs::remove_dir_all(folder);
            return Err(error);
        }
    }
    Ok(())
}

/// Returns lines about the tools that are missing to build agents in this language, if any are.
fn missing_tools(language: Option<Language>) -> String {
    #[cfg(feature = "wasm")]
    if let Some(language) = language {
        let missing = super::agent_build::requirements::missing_for(language);
        if !missing.is_empty() {
            let sources = super::agent_build::requirements::sources(&missing);
            return format!("To build the calculators, first install what is missing here:\n{sources}\n\n");
        }
    }
    let _ = language;
    String::new()
}

/// Says what was made, what is `missing`, and what to type next.
fn say_made(folder: &Path, program: &str, missing: &str) -> std::io::Result<()> {
    let shown = quoted(&folder.to_string_lossy());
    let mut text = String::new();
    if program.is_empty() {
        let _ = writeln!(text, "Made {}: a gardener and three flowers.", folder.display());
        let _ = writeln!(text);
    } else {
        let _ = writeln!(text, "Made {}: a pupil and two calculators.", folder.display());
        let _ = writeln!(text);
        text.push_str(missing);
        let (from, to) = (folder.join(program), folder.join("calculator.wasm"));
        let (from, to) = (quoted(&from.to_string_lossy()), quoted(&to.to_string_lossy()));
        let _ = writeln!(text, "  whimbrel agent build {from} -o {to}");
    }
    let _ = writeln!(text, "  whimbrel run {shown}              let them live");
    let _ = writeln!(text, "  whimbrel run {shown} --trace      see what they say to each other");
    let _ = write!(text, "  whimbrel check {shown}            look for errors after a change");
    print(&text)
}

/// Quotes a text, so that a shell takes it for one word.
fn quoted(path: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "/._-+,:@%".contains(c);
    if path.chars().all(plain) { path.to_owned() } else { format!("'{}'", path.replace('\'', r"'\''")) }
}

fn write(path: &Path, content: &[u8]) -> anyhow::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
    }
    std::fs::write(path, content).with_context(|| format!("cannot write {}", path.display()))
}

/// Returns the folder's name as a project's name, which is an atom.
fn project_name(folder: &Path) -> anyhow::Result<String> {
    let name = folder.file_name().and_then(|name| name.to_str()).context("not a valid name of a folder")?;
    let atom: String = name.chars().map(|c| if c == '-' || c == ' ' { '_' } else { c }).collect();
    let begins_well = atom.starts_with(|c: char| c.is_ascii_lowercase());
    if !begins_well || !atom.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        bail!("`{name}` is no valid name of a project: expected a lower-case letter, then letters, digits, `_` or `-`");
    }
    Ok(atom)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_projects_name_is_an_atom() {
        assert_eq!(project_name(Path::new("a/b/my-garden")).expect("good"), "my_garden");
        assert!(project_name(Path::new("Garden")).is_err());
        assert!(project_name(Path::new("9lives")).is_err());
        assert!(project_name(Path::new("a.b")).is_err());
        assert!(project_name(Path::new("..")).is_err());
    }

    #[test]
    fn shown_command_is_quoted_if_needed() {
        assert_eq!(quoted("a/my-garden"), "a/my-garden");
        assert_eq!(quoted("my gardens/a"), "'my gardens/a'");
        assert_eq!(quoted("ada's/a"), r"'ada'\''s/a'");
    }
}
