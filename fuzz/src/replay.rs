//! Replays on the stable compiler the seeds of the fuzzers, and the inputs that once failed.
#![allow(dead_code, reason = "not every crate that replays needs all of it")]

use std::path::Path;

/// Runs `check` on each file of the target's folders.
pub fn replay(target: &str, check: fn(&[u8])) {
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

/// Runs `check` on every seed, and on `times` variants of each with changed bytes or a cut end.
pub fn change(seeds: &[Vec<u8>], times: usize, check: fn(&[u8])) {
    let mut random = 0x9E37_79B9_7F4A_7C15_u64;
    for seed in seeds {
        check(seed);
        for _ in 0..times {
            let mut changed = seed.clone();
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let at = (random >> 33) as usize % changed.len().max(1);
            if let Some(byte) = changed.get_mut(at) {
                *byte = (random >> 17) as u8;
            }
            if random & 7 == 0 {
                changed.truncate(at);
            }
            check(&changed);
        }
    }
}
