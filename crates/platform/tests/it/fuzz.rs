//! Replays what the fuzzers of sessions and of links start from and what they once found.

use std::path::Path;

#[path = "../../../../fuzz/src/links.rs"]
mod links;
#[path = "../../../../fuzz/src/session.rs"]
mod session;

/// Runs the seeds, and all files of a target.
fn replay(target: &str, seeds: &[Vec<u8>], run: fn(&[u8])) {
    seeds.iter().for_each(|seed| run(seed));
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    let mut count = 0;
    for folder in ["corpus", "regressions"] {
        let Ok(files) = std::fs::read_dir(fuzz.join(folder).join(target)) else { continue };
        for file in files {
            let path = file.unwrap().path();
            eprintln!("{}", path.display());
            run(&std::fs::read(&path).unwrap());
            count += 1;
        }
    }
    assert!(count > 0, "the corpus is not there");
}

/// Every seed with single bytes changed, or cut off, in many ways.
fn change(seeds: &[Vec<u8>], times: usize, run: fn(&[u8])) {
    let mut random = 0x9E37_79B9_7F4A_7C15_u64;
    for seed in seeds {
        for _ in 0..times {
            let mut changed = seed.clone();
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let at = (random >> 33) as usize % changed.len();
            changed[at] = (random >> 17) as u8;
            if random & 7 == 0 {
                changed.truncate(at);
            }
            run(&changed);
        }
    }
}

#[test]
fn frames_of_sessions_are_replayed() {
    replay("session_frames", &session::seeds(), session::session_frames);
}

#[test]
fn changed_frames_of_sessions_do_no_harm() {
    change(&session::seeds(), 300, session::session_frames);
}

#[test]
fn frames_of_links_are_replayed() {
    replay("link_frames", &links::seeds(), links::link_frames);
}

#[test]
fn changed_frames_of_links_do_no_harm() {
    change(&links::seeds(), 2_000, links::link_frames);
}
