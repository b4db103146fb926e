//! Replays the seeds of the fuzzers of stores' files, and the inputs that once failed.

use std::path::Path;

#[path = "../../../../fuzz/src/store.rs"]
mod store;

/// Runs the seeds, all files of a target, and every seed with single bytes changed, or cut off, in many ways.
fn replay(target: &str, run: fn(&[u8])) {
    let seeds = store::seeds();
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
    let mut random = whimbrel_testkit::Random::new(3);
    for seed in &seeds {
        for _ in 0..1_000 {
            let mut changed = seed.clone();
            let at = random.between(0..=seed.len() as u64 - 1) as usize;
            changed[at] = random.next_u64() as u8;
            if random.one_in(8) {
                changed.truncate(at);
            }
            run(&changed);
        }
    }
}

#[test]
fn segments_are_replayed() {
    replay("store_segment", store::store_segment);
}

#[test]
fn exports_are_replayed() {
    replay("store_export", store::store_export);
}
