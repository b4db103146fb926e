//! `cargo xtask tidy` checks the rules that no compiler checks: which crate may use which, what is pure, how long a
//! function may be, what nothing is called. Rules live here as programs, because rules in documents are forgotten.
//! `cargo xtask test` runs the tests.

use std::process::ExitCode;

mod mask;
mod repo;
mod second_try;
mod tidy;

use repo::Repo;

const USAGE: &str = "usage: cargo xtask tidy | test

  test    run all tests; those with real processes that fail are tried once more, one at a time
  tidy    check the repository against its own rules; exit status 1 if one is broken";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["tidy"] => run_tidy(),
        ["test"] => second_try::run().unwrap_or_else(|error| {
            eprintln!("error: cannot run cargo test: {error}");
            ExitCode::from(2)
        }),
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

fn run_tidy() -> ExitCode {
    let repo = match Repo::open() {
        Ok(repo) => repo,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::from(2);
        }
    };
    let findings = tidy::check(&repo);
    for finding in &findings {
        eprintln!("{finding}");
    }
    if findings.is_empty() {
        println!("tidy: {} files, nothing to say", repo.files().count());
        return ExitCode::SUCCESS;
    }
    eprintln!("tidy: {} findings", findings.len());
    ExitCode::FAILURE
}
