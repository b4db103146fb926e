//! Replays what the fuzzers start from and what they once found.

use std::path::Path;

#[path = "../../../../fuzz/src/language.rs"]
mod language;

/// Runs `check` on each file of the target's folders.
fn replay(target: &str, check: fn(&[u8])) {
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    let mut count = 0;
    for folder in ["corpus", "regressions"] {
        let Ok(files) = std::fs::read_dir(fuzz.join(folder).join(target)) else { continue };
        for file in files {
            let path = file.unwrap().path();
            let bytes = std::fs::read(&path).unwrap();
            eprintln!("{}", path.display());
            check(&bytes);
            count += 1;
        }
    }
    assert!(count > 0, "no files for {target}");
}

#[test]
fn programs_are_replayed() {
    replay("asl_parser", language::asl_parser);
}

#[test]
fn projects_are_replayed() {
    replay("mas2j_parser", language::mas2j_parser);
}

#[test]
fn terms_are_replayed() {
    replay("term_parser", language::term_parser);
}
