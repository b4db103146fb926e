//! Replays what the fuzzer of the compact codec starts from and what it once found.

use std::path::Path;

#[path = "../../../../fuzz/src/compact.rs"]
mod compact;

#[test]
fn compact_bytes_are_replayed() {
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    compact::seeds().iter().for_each(|seed| compact::compact_decoder(seed));
    for folder in ["corpus", "regressions"] {
        let Ok(files) = std::fs::read_dir(fuzz.join(folder).join("compact_decoder")) else { continue };
        for file in files {
            let path = file.unwrap().path();
            eprintln!("{}", path.display());
            compact::compact_decoder(&std::fs::read(&path).unwrap());
        }
    }
}

/// Every byte of every seed changed in many ways.
#[test]
fn changed_bytes_do_no_harm() {
    let mut random = 0x9E37_79B9_7F4A_7C15_u64;
    for seed in compact::seeds() {
        for _ in 0..200 {
            let mut changed = seed.clone();
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let at = 1 + (random >> 33) as usize % (changed.len() - 1);
            changed[at] = (random >> 17) as u8;
            if random & 7 == 0 {
                changed.truncate(at);
            }
            compact::compact_decoder(&changed);
        }
    }
}
