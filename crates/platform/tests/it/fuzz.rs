//! Replays what the fuzzer of sessions starts from and what it once found.

use std::path::Path;

#[path = "../../../../fuzz/src/session.rs"]
mod session;

#[test]
fn frames_of_sessions_are_replayed() {
    session::seeds().iter().for_each(|seed| session::session_frames(seed));
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    let mut count = 0;
    for folder in ["corpus", "regressions"] {
        let Ok(files) = std::fs::read_dir(fuzz.join(folder).join("session_frames")) else { continue };
        for file in files {
            let path = file.unwrap().path();
            eprintln!("{}", path.display());
            session::session_frames(&std::fs::read(&path).unwrap());
            count += 1;
        }
    }
    assert!(count > 0, "the corpus is not there");
}

/// Every byte of every seed changed in many ways.
#[test]
fn changed_frames_do_no_harm() {
    let mut random = 0x9E37_79B9_7F4A_7C15_u64;
    for seed in session::seeds() {
        for _ in 0..300 {
            let mut changed = seed.clone();
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let at = (random >> 33) as usize % changed.len();
            changed[at] = (random >> 17) as u8;
            if random & 7 == 0 {
                changed.truncate(at);
            }
            session::session_frames(&changed);
        }
    }
}
