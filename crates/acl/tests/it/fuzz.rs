//! Replays what the fuzzers start from and what they once found.

use std::path::Path;

#[path = "../../../../fuzz/src/compact.rs"]
mod compact;
#[path = "../../../../fuzz/src/encodings.rs"]
mod encodings;

/// Runs `check` on each file of the target's folders, and says how many there were.
fn replay(target: &str, check: fn(&[u8])) -> usize {
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    let mut count = 0;
    for folder in ["corpus", "regressions"] {
        let Ok(files) = std::fs::read_dir(fuzz.join(folder).join(target)) else { continue };
        for file in files {
            let path = file.unwrap().path();
            eprintln!("{}", path.display());
            check(&std::fs::read(&path).unwrap());
            count += 1;
        }
    }
    count
}

#[test]
fn compact_bytes_are_replayed() {
    compact::seeds().iter().for_each(|seed| compact::compact_decoder(seed));
    replay("compact_decoder", compact::compact_decoder);
}

#[test]
fn messages_and_sl_are_replayed() {
    for (target, check) in [
        ("acl_string", encodings::acl_string as fn(&[u8])),
        ("acl_xml", encodings::acl_xml),
        ("acl_bits", encodings::acl_bits),
        ("acl_json", encodings::acl_json),
        ("sl_content", encodings::sl_content),
    ] {
        assert!(replay(target, check) > 0, "no files for {target}");
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
