//! Properties of the files of a store, for any bytes. The fuzz targets look for violations; a test of
//! `whimbrel-store` replays those that were found.
#![allow(dead_code, reason = "each target uses one of these")]

use whimbrel_store::fuzzing::{
    RECORD_ALIGN, RecordPiece, export, read_description, read_export, read_segment, segment,
};

/// Parses records: three bytes each, and the bytes that they announce. A first byte of 255 begins a new batch.
fn pieces(mut bytes: &[u8]) -> Vec<Vec<RecordPiece>> {
    let mut batches = vec![Vec::new()];
    while let Some(([kind, place, length], rest)) = bytes.split_first_chunk::<3>().map(|(head, rest)| (*head, rest)) {
        let (payload, rest) = rest.split_at(usize::from(length).min(rest.len()));
        bytes = rest;
        if kind == u8::MAX {
            batches.push(Vec::new());
            continue;
        }
        let piece = RecordPiece {
            kind: kind % 10,
            partition: u16::from(kind / 10),
            place: place.into(),
            bytes: payload.to_vec(),
        };
        batches.last_mut().expect("there is one").push(piece);
    }
    batches
}

/// Damages the file of some records. The first bytes give the number of changes, their places and their values; the
/// rest are records.
fn damaged(bytes: &[u8], whole: impl Fn(&[u8]) -> Vec<u8>) -> (Vec<u8>, bool) {
    let Some((&count, rest)) = bytes.split_first() else { return (Vec::new(), false) };
    let (changes, rest) = rest.split_at((usize::from(count % 8) * 3).min(rest.len()));
    let mut file = whole(rest);
    let mut changed = false;
    for change in changes.chunks_exact(3) {
        let at = usize::from(u16::from_be_bytes([change[0], change[1]]));
        if change[2] == 0 {
            changed |= at < file.len();
            file.truncate(at);
        } else if let Some(byte) = file.get_mut(at) {
            *byte ^= change[2];
            changed = true;
        }
    }
    (file, changed)
}

/// Segments: never a panic, never a record that was not written, all of them if nothing was damaged.
pub fn store_segment(bytes: &[u8]) {
    let _ = read_segment(bytes, true);
    let _ = read_segment(bytes, false);
    let batches = pieces(bytes.get(1 + usize::from(bytes.first().copied().unwrap_or(0) % 8) * 3..).unwrap_or_default());
    let (file, changed) = damaged(bytes, |rest| segment(&pieces(rest)));
    let written: Vec<RecordPiece> = batches.concat();
    for sealed in [true, false] {
        let Some((found, end)) = read_segment(&file, sealed) else {
            assert!(changed || bytes.is_empty(), "a segment that is whole cannot be read");
            continue;
        };
        // Recovery completes the padding of a last record that is cut in its padding.
        assert!(end <= file.len().next_multiple_of(RECORD_ALIGN));
        assert!(changed || found == written, "not all that was written is read");
        let mut left = written.iter();
        for piece in &found {
            assert!(left.any(|one| one == piece), "{piece:?} was never written, or not here");
        }
    }
}

/// Exports: never a panic; all of it is read, or none of it counts.
pub fn store_export(bytes: &[u8]) {
    let _ = read_export(bytes);
    if let Ok(text) = std::str::from_utf8(bytes) {
        let _ = read_description(text);
    }
    const END: u8 = 9;
    let records = |bytes: &[u8]| -> Vec<RecordPiece> {
        pieces(bytes).concat().into_iter().filter(|piece| piece.kind != END).collect()
    };
    let written =
        records(bytes.get(1 + usize::from(bytes.first().copied().unwrap_or(0) % 8) * 3..).unwrap_or_default());
    let (file, changed) = damaged(bytes, |rest| export(&records(rest)));
    match read_export(&file) {
        Ok(found) => assert!(found == written, "other records than were written"),
        Err(why) => assert!(changed || bytes.is_empty(), "an export that is whole is refused: {why}"),
    }
}

/// Inputs from which fuzzing starts.
pub fn seeds() -> Vec<Vec<u8>> {
    let records = [
        &[6, 0, 0][..],
        &[7, 4, 8, 1, 0, 0, 0, 0, 0, 0, 0],
        &[2, 5, 0],
        &[0, 5, 3, b'o', b'n', b'e'],
        &[255, 0, 0],
        &[0, 6, 9, b't', b'w', b'o', 0, 0, 0, 0, 0, 0],
        &[10, 1, 1, b'x'],
        &[255, 0, 0],
        &[4, 7, 5, 1, 0, b'k', b'v', b'v'],
        &[5, 8, 3, 1, 0, b'k'],
        &[3, 5, 0],
        &[255, 0, 0],
        &[1, 6, 2, b'm', b'v'],
        &[8, 0, 4, b'b', b'l', b'o', b'b'],
    ]
    .concat();
    let with = |changes: &[[u8; 3]]| [&[changes.len() as u8][..], &changes.concat(), &records].concat();
    vec![
        with(&[]),
        with(&[[0, 70, 1]]),
        with(&[[0, 120, 0]]),
        with(&[[0, 200, 0x80], [1, 20, 3]]),
        with(&[[1, 100, 0x10]]),
        b"whimbrel store\nlayout 1\npartitions 256\nid 0000000000000007\nchecksum 00000000\n".to_vec(),
        b"WHIMEXP\n\x01\0\0\0\x10\0\0\0".to_vec(),
    ]
}
