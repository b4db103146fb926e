//! `cargo xtask tidy` checks the rules that no compiler checks: dependencies between crates, purity, lengths of
//! functions, forbidden names. Rules live here as programs, because rules in documents are forgotten. `cargo xtask
//! test` runs the tests.

use std::process::ExitCode;

mod limits;
mod mask;
mod public_api;
mod repo;
mod test_program;
mod test_run;
mod tidy;
mod times;

use repo::Repo;
use tidy::ratchets::Ratchets;

const USAGE: &str = "usage: cargo xtask tidy [--figures [FIGURE] | --tighten] | limits | public-api | test

  limits             write docs/reference/limits.md from the constants
  public-api         print the names that Rust programs can reach from the crate `whimbrel`
  public-api --since COMMIT
                     print the names that vanished (-) and came (+) since a commit
  test               run all tests, and list the slowest tests and test programs
  tidy               check the repository against its own rules; exit status 1 if one is broken
  tidy --figures     print the figures that only fall: now, allowed (xtask/ratchets.toml), and the target
  tidy --figures F   print all places that the figure F counts, by its name in xtask/ratchets.toml
  tidy --tighten     lower what is allowed to the present figures";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args_os().skip(1).map(|it| it.to_string_lossy().into_owned()).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["tidy"] => in_repo(check),
        ["tidy", "--figures"] => in_repo(|repo| {
            print!("{}", Ratchets::of(repo).table());
            Ok(ExitCode::SUCCESS)
        }),
        ["tidy", "--figures", name] => in_repo(|repo| {
            print!("{}", Ratchets::of(repo).places(name)?);
            Ok(ExitCode::SUCCESS)
        }),
        ["tidy", "--tighten"] => in_repo(|repo| {
            Ratchets::of(repo).tighten(repo)?;
            Ok(ExitCode::SUCCESS)
        }),
        ["limits"] => in_repo(|repo| limits::write(repo).map(|()| ExitCode::SUCCESS)),
        ["public-api"] => in_repo(|repo| {
            public_api::names(repo).iter().for_each(|name| println!("{name}"));
            Ok(ExitCode::SUCCESS)
        }),
        ["public-api", "--since", commit] => in_repo(|repo| {
            public_api::differences(&repo.at(commit)?, repo).iter().for_each(|name| println!("{name}"));
            Ok(ExitCode::SUCCESS)
        }),
        ["test"] => test_run::run().unwrap_or_else(|error| {
            eprintln!("error: cannot run cargo test: {error}");
            ExitCode::from(2)
        }),
        [test_program::COMMAND, program, ..] => test_program::record(program).map_or_else(
            |error| {
                eprintln!("error: cannot say how {program} is run: {error}");
                ExitCode::from(2)
            },
            |()| ExitCode::SUCCESS,
        ),
        ["--help" | "-h" | "help"] => {
            println!("{USAGE}");
            ExitCode::SUCCESS
        }
        _ => {
            eprintln!("{USAGE}");
            ExitCode::from(2)
        }
    }
}

/// Does something with the repository; exit status 2 if that fails.
fn in_repo(act: impl FnOnce(&Repo) -> Result<ExitCode, String>) -> ExitCode {
    Repo::open().and_then(|repo| act(&repo)).unwrap_or_else(|error| {
        eprintln!("error: {error}");
        ExitCode::from(2)
    })
}

fn check(repo: &Repo) -> Result<ExitCode, String> {
    let (findings, notes) = tidy::check(repo);
    for finding in &findings {
        eprintln!("{finding}");
    }
    for note in notes {
        println!("note: {note}");
    }
    if findings.is_empty() {
        println!("tidy: {} files, nothing to say", repo.files().count());
        return Ok(ExitCode::SUCCESS);
    }
    eprintln!("tidy: {} findings", findings.len());
    Ok(ExitCode::FAILURE)
}
