//! `whimbrel fmt`: programs and projects in one style.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use whimbrel::figures::counted;
use whimbrel::files::{read, read_source};
use whimbrel_acl::Text;
use whimbrel_editor::format::{format, format_project};
use whimbrel_platform::limits;
use whimbrel_terminal as terminal;
use whimbrel_terminal::screen::print_bytes;

use crate::arguments::FmtArguments;

/// Levels of folders in which programs are searched.
const FOLDERS_DEEP_MAX: usize = 32;

/// Formats the files, or standard input.
pub fn fmt(arguments: &FmtArguments) -> anyhow::Result<ExitCode> {
    if let [file] = arguments.files.as_slice()
        && file.as_os_str() == "-"
    {
        return from_standard_input(arguments);
    }
    let mut files = Vec::new();
    for path in &arguments.files {
        programs(path, FOLDERS_DEEP_MAX, &mut files)
            .with_context(|| format!("cannot look for programs in {}", path.display()))?;
    }
    let mut totals = FmtTotals::default();
    for file in &files {
        totals.format(file, arguments.check);
    }
    terminal::say_line(&totals.summary(arguments.check));
    let is_fine = totals.failed == 0 && (!arguments.check || totals.changed == 0);
    Ok(if is_fine { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn from_standard_input(arguments: &FmtArguments) -> anyhow::Result<ExitCode> {
    let mut text = String::new();
    let mut input = std::io::stdin().take(limits::SOURCE_BYTES_MAX as u64 + 1);
    input.read_to_string(&mut text).context("cannot read standard input as UTF-8 text")?;
    match format(&text, &Text::from("standard input")) {
        Ok(formatted) if arguments.check => Ok(if formatted == text { ExitCode::SUCCESS } else { ExitCode::FAILURE }),
        Ok(formatted) => {
            print_bytes(formatted.as_bytes())?;
            Ok(ExitCode::SUCCESS)
        }
        Err(diagnostics) => {
            for diagnostic in diagnostics {
                terminal::say_line(&diagnostic.to_string());
            }
            Ok(ExitCode::FAILURE)
        }
    }
}

/// Adds the programs and projects at a path: the file itself, or those in the folder and below it.
fn programs(path: &Path, levels: usize, files: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    if !path.is_dir() {
        files.push(path.to_owned());
        return Ok(());
    }
    let mut entries: Vec<PathBuf> = std::fs::read_dir(path)?.flatten().map(|entry| entry.path()).collect();
    entries.sort();
    for entry in entries {
        let is_hidden = entry.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        if entry.is_dir() && !entry.is_symlink() && !is_hidden && levels > 0 {
            programs(&entry, levels - 1, files)?;
        } else if entry.extension().is_some_and(|extension| extension == "asl" || extension == "mas2j") {
            files.push(entry);
        }
    }
    Ok(())
}

/// Replaces the text of a file, all or nothing: a full disk must not cost anybody a program.
fn replace(file: &Path, text: &str) -> anyhow::Result<()> {
    // A link stays one.
    let file = file.canonicalize()?;
    let permissions = std::fs::metadata(&file)?.permissions();
    // The file itself must be writable, whatever its folder permits.
    drop(std::fs::OpenOptions::new().write(true).open(&file)?);
    let folder = file.parent().unwrap_or(Path::new("/"));
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let beside = folder.join(format!(".{name}.{}", std::process::id()));
    let written = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&beside)
        .and_then(|mut new| new.write_all(text.as_bytes()).and_then(|()| new.sync_all()))
        .and_then(|()| std::fs::set_permissions(&beside, permissions))
        .and_then(|()| std::fs::rename(&beside, &file));
    written.inspect_err(|_| drop(std::fs::remove_file(&beside)))?;
    Ok(())
}

/// Numbers of files.
#[derive(Default)]
struct FmtTotals {
    files: usize,
    changed: usize,
    failed: usize,
}

impl FmtTotals {
    fn format(&mut self, file: &Path, check: bool) {
        self.files += 1;
        if let Err(error) = self.try_format(file, check) {
            self.failed += 1;
            terminal::complain(&error);
        }
    }

    fn try_format(&mut self, file: &Path, check: bool) -> anyhow::Result<()> {
        let name = Text::from(file.to_string_lossy());
        let extension = file.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        if extension == "wasm" {
            anyhow::bail!("{name} is no program (.asl) or project (.mas2j): it stays as it is");
        }
        let format = if extension == "mas2j" { format_project } else { format };
        // A file in another encoding is left alone: it would come back in UTF-8.
        let text = match read(file) {
            Ok(text) => text,
            Err(error) => {
                read_source(file)?;
                return Err(error.into());
            }
        };
        let formatted = match format(&text, &name) {
            Ok(formatted) => formatted,
            Err(diagnostics) => {
                terminal::show(&diagnostics);
                anyhow::bail!("{name} has errors: it stays as it is");
            }
        };
        if formatted == text {
            return Ok(());
        }
        if check {
            terminal::say_line(&format!("{name} would change"));
        } else {
            replace(file, &formatted).with_context(|| format!("cannot write {name}: it stays as it is"))?;
        }
        self.changed += 1;
        Ok(())
    }

    fn summary(&self, check: bool) -> String {
        let verb = if check { "would change" } else { "changed" };
        format!("{}: {} {verb}, {} with errors", counted(self.files, "file"), self.changed, self.failed)
    }
}
