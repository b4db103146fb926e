//! `whimbrel new`: a folder with a small society in it that runs.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, bail};

use crate::arguments::New;

/// The files of the scaffold: name and text, `NAME` standing for the project's name.
const FILES: [(&str, &str); 4] = [
    ("NAME.mas2j", include_str!("../scaffold/project.mas2j")),
    ("gardener.asl", include_str!("../scaffold/gardener.asl")),
    ("flower.asl", include_str!("../scaffold/flower.asl")),
    ("README.md", include_str!("../scaffold/README.md")),
];

/// Makes the folder.
pub fn new(arguments: &New) -> anyhow::Result<ExitCode> {
    let folder = &arguments.name;
    let name = project_name(folder)?;
    if folder.exists() {
        bail!("{} exists already; choose another name", folder.display());
    }
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
    for (file, text) in FILES {
        let path = folder.join(file.replace("NAME", &name));
        std::fs::write(&path, text.replace("NAME", &name))
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    let shown = folder.display();
    let mut out = anstream::stdout().lock();
    writeln!(out, "Made {shown}: a gardener and three flowers.")?;
    writeln!(out)?;
    writeln!(out, "  whimbrel run {shown}              let them live")?;
    writeln!(out, "  whimbrel run {shown} --trace      see what they say to each other")?;
    writeln!(out, "  whimbrel check {shown}            look for errors after a change")?;
    Ok(ExitCode::SUCCESS)
}

/// The folder's name as a project's name, which is an atom.
fn project_name(folder: &Path) -> anyhow::Result<String> {
    let name = folder.file_name().and_then(|name| name.to_str()).context("that is no name for a folder")?;
    let atom: String = name.chars().map(|c| if c == '-' || c == ' ' { '_' } else { c }).collect();
    let begins_well = atom.starts_with(|c: char| c.is_ascii_lowercase());
    if !begins_well || !atom.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        bail!("`{name}` cannot name a project: begin with a small letter, go on with letters, digits, `_` or `-`");
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
}
