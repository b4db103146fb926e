//! `whimbrel run`: a society, until it ends.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::bail;
use whimbrel::Society;
use whimbrel::society::OpenError;
use whimbrel_runtime::Platform;

use crate::arguments::Run;
use crate::stopping::Stopping;
use crate::terminal::{self, Lines};
use crate::watch::Watch;

/// Runs it.
pub fn run(arguments: &Run) -> anyhow::Result<ExitCode> {
    let file = project_in(&arguments.file)?;
    let society = match open(&file, arguments.agents.map(|count| count as usize)) {
        Ok(society) => society,
        Err(OpenError::Program { diagnostics, path }) => {
            terminal::show(&diagnostics);
            bail!("{} has errors", path.display());
        }
        Err(error) => return Err(error.into()),
    };
    if !arguments.quiet {
        terminal::show(society.warnings());
    }
    let stopping = Stopping::new()?;
    let watch = Watch::new(arguments.trace, arguments.summary);
    let mut builder =
        Platform::builder().output(Lines::new(arguments.quiet, stopping.sender())).loader(society.loader());
    if let Some(workers) = arguments.workers {
        builder = builder.workers(usize::from(workers));
    }
    if let Some(seed) = arguments.seed {
        builder = builder.seed(seed);
    }
    if let Some(watch) = &watch {
        builder = builder.observer(watch.clone());
    }
    let begin = Instant::now();
    let platform = builder.build();
    society.start(&platform)?;
    stopping.watch(platform.clone(), arguments.time);
    let code = platform.run_until_stopped();
    let time = begin.elapsed();
    if let Some(table) = watch.and_then(|watch| watch.summary(platform.counters(), time)) {
        // Nobody may be reading any more.
        let _ = writeln!(anstream::stdout().lock(), "{table}");
    }
    Ok(ExitCode::from(u8::try_from(code & 0xff).unwrap_or(1)))
}

fn open(file: &Path, agents: Option<usize>) -> Result<Society, OpenError> {
    Society::of_program(file, agents)
}

/// The project to run: the file itself, or the only project in a folder.
pub fn project_in(path: &Path) -> anyhow::Result<PathBuf> {
    if !path.is_dir() {
        return Ok(path.to_owned());
    }
    let mut projects: Vec<PathBuf> = std::fs::read_dir(path)?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|file| file.extension().is_some_and(|extension| extension == "mas2j"))
        .collect();
    projects.sort();
    match projects.as_slice() {
        [project] => Ok(project.clone()),
        [] => bail!("{} is a folder without a project (.mas2j) in it", path.display()),
        several => {
            let names: Vec<String> = several.iter().map(|project| project.display().to_string()).collect();
            bail!("{} holds several projects: name one of {}", path.display(), names.join(", "))
        }
    }
}
