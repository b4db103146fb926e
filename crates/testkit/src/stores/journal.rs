//! Cases for a journal with one owner at a time.

use std::ops::ControlFlow;

use whimbrel_platform::store::{Append, AppendError, Epoch, Journal, Lsn, OpenError, Partition};

use super::{Candidate, Case, Outcome, Store, append, frames, must, open, same, text};

pub const CASES: &[Case] = &[
    Case { name: "frames come back in their order", run: frames_come_back, stubborn: true },
    Case { name: "frames of several partitions in one call", run: several_partitions, stubborn: false },
    Case { name: "a frame appended again is there once", run: appended_again, stubborn: true },
    Case { name: "numbers have no gaps", run: no_gaps, stubborn: false },
    Case { name: "older epochs are fenced", run: older_epochs, stubborn: false },
    Case { name: "what is opened again goes on", run: opened_again, stubborn: true },
    Case { name: "trimmed frames are gone, the others stay", run: trimmed, stubborn: false },
    Case { name: "sizes have their limits", run: sizes, stubborn: false },
    Case { name: "whoever reads may have enough", run: enough, stubborn: false },
];

fn one(partition: u16, epoch: u64, number: u64, frame: &[u8]) -> Append<'_> {
    Append { partition: Partition(partition), epoch: Epoch(epoch), number, frame }
}

/// Makes content that differs for each frame: some empty, some long.
fn content(partition: u16, number: u64) -> Vec<u8> {
    let length = (number * number * 37 % 3_000) as usize;
    format!("{partition}/{number} ").into_bytes().into_iter().cycle().take(length).collect()
}

fn frames_come_back(candidate: &dyn Candidate) -> Outcome {
    let store = candidate.fresh();
    let mut expected = vec![Vec::new(); 4];
    for (partition, _) in expected.iter().enumerate() {
        open(&*store, partition as u16, 1)?;
    }
    for number in 1..=60 {
        for (partition, expected) in expected.iter_mut().enumerate() {
            let frame = content(partition as u16, number);
            let lsn = append(&*store, partition as u16, 1, number, &frame).map_err(text)?;
            expected.push((lsn.0, frame));
        }
    }
    let check = |store: &dyn Store| -> Outcome {
        for (partition, expected) in expected.iter().enumerate() {
            let found = frames(store, partition as u16, 0)?;
            must(found.is_sorted_by(|a, b| a.0 < b.0), || "places do not rise".to_owned())?;
            must(found == *expected, || format!("partition {partition} has other frames than were appended"))?;
            let (middle, _) = expected.get(30).cloned().unwrap_or_default();
            let rest = frames(store, partition as u16, middle)?;
            must(Some(rest.as_slice()) == expected.get(30..), || {
                format!("reading from {middle} on shows other frames")
            })?;
        }
        same("frames of a partition that nobody opened", frames(store, 7, 0)?, Vec::new())
    };
    check(&*store)?;
    check(&*candidate.reopen(store))
}

fn several_partitions(candidate: &dyn Candidate) -> Outcome {
    let store = candidate.fresh();
    (0..4).try_for_each(|partition| open(&*store, partition, 1).map(drop))?;
    let contents: Vec<(u16, u64, Vec<u8>)> = (1..=50)
        .flat_map(|number| (0..4).map(move |partition| (partition, number, content(partition, number))))
        .collect();
    let batch: Vec<_> = contents.iter().map(|(partition, number, frame)| one(*partition, 1, *number, frame)).collect();
    let results = store.append(&batch);
    same("results", results.len(), batch.len())?;
    for (index, result) in results.iter().enumerate() {
        must(result.is_ok(), || format!("frame {index}: {result:?}"))?;
    }
    let store = candidate.reopen(store);
    for partition in 0..4 {
        let found: Vec<Vec<u8>> = frames(&*store, partition, 0)?.into_iter().map(|(_, frame)| frame).collect();
        let expected: Vec<Vec<u8>> = (1..=50).map(|number| content(partition, number)).collect();
        must(found == expected, || format!("partition {partition} has other frames than were appended"))?;
    }
    same("appending nothing", store.append(&[]).len(), 0)
}

fn appended_again(candidate: &dyn Candidate) -> Outcome {
    let store = candidate.fresh();
    open(&*store, 1, 5)?;
    let mut places = Vec::new();
    for number in 1..=20 {
        places.push(append(&*store, 1, 5, number, &content(1, number)).map_err(text)?);
        let again = number.div_ceil(2);
        let place = append(&*store, 1, 5, again, &content(1, again)).map_err(text)?;
        same("the place of a frame appended again", Some(&place), places.get(again as usize - 1))?;
    }
    let store = candidate.reopen(store);
    let place = append(&*store, 1, 5, 7, &content(1, 7)).map_err(text)?;
    same("its place after the store was opened anew", Some(&place), places.get(6))?;
    let next = append(&*store, 1, 5, 21, &content(1, 21)).map_err(text)?;
    must(Some(&next) > places.last(), || format!("the next frame has place {next:?}"))?;
    same("frames", frames(&*store, 1, 0)?.len(), 21)
}

fn no_gaps(candidate: &dyn Candidate) -> Outcome {
    let store = candidate.fresh();
    open(&*store, 1, 1)?;
    let results = store.append(&[one(1, 1, 1, b"a"), one(1, 1, 3, b"c"), one(1, 1, 2, b"b"), one(1, 1, 0, b"z")]);
    must(matches!(results.as_slice(), [Ok(_), Err(AppendError::Behind), Ok(_), Err(AppendError::Behind)]), || {
        format!("numbers 1, 3, 2, 0: {results:?}")
    })?;
    let found: Vec<Vec<u8>> = frames(&*store, 1, 0)?.into_iter().map(|(_, frame)| frame).collect();
    same("frames", found, vec![b"a".to_vec(), b"b".to_vec()])
}

fn older_epochs(candidate: &dyn Candidate) -> Outcome {
    let store = candidate.fresh();
    let unopened = store.append(&[one(2, 1, 1, b"early")]);
    must(matches!(unopened.as_slice(), [Err(AppendError::NotOpen { .. })]), || format!("not open: {unopened:?}"))?;
    open(&*store, 2, 1)?;
    append(&*store, 2, 1, 1, b"first").map_err(text)?;
    let last = open(&*store, 2, 4)?;
    same("the last place", frames(&*store, 2, 0)?.last().map(|(lsn, _)| *lsn), Some(last.0))?;
    let check = |store: &dyn Store| -> Outcome {
        let old = store.append(&[one(2, 1, 2, b"late"), one(2, 3, 1, b"late")]);
        must(
            old.iter().all(|result| matches!(result, Err(AppendError::Fenced { by }) if by.0 == 4 || by.0 == 0)),
            || format!("appends of older epochs: {old:?}"),
        )?;
        let opened = store.open(Partition(2), Epoch(3));
        must(matches!(opened, Err(OpenError::Fenced { partition: Partition(2), by: Epoch(4) })), || {
            format!("opened in an older epoch: {opened:?}")
        })?;
        let ahead = store.append(&[one(2, 5, 1, b"ahead")]);
        must(matches!(ahead.as_slice(), [Err(AppendError::NotOpen { .. })]), || format!("a later epoch: {ahead:?}"))
    };
    check(&*store)?;
    let store = candidate.reopen(store);
    check(&*store)?;
    append(&*store, 2, 4, 1, b"second").map_err(text)?;
    let found: Vec<Vec<u8>> = frames(&*store, 2, 0)?.into_iter().map(|(_, frame)| frame).collect();
    same("frames", found, vec![b"first".to_vec(), b"second".to_vec()])
}

fn opened_again(candidate: &dyn Candidate) -> Outcome {
    let mut store = candidate.fresh();
    let mut expected = Vec::new();
    for epoch in 1..=6 {
        let last = open(&*store, 0, epoch)?;
        same("the last place", Some(last.0), expected.last().map(|(lsn, _)| *lsn).or(Some(0)))?;
        for number in 1..=5 {
            let frame = content(epoch as u16, number);
            let lsn = append(&*store, 0, epoch, number, &frame).map_err(text)?;
            expected.push((lsn.0, frame));
            // Opening it in the same epoch changes nothing.
            same("the last place", open(&*store, 0, epoch)?, lsn)?;
        }
        if epoch % 2 == 0 {
            store = candidate.reopen(store);
        }
        must(frames(&*store, 0, 0)? == expected, || format!("other frames in epoch {epoch}"))?;
    }
    Ok(())
}

fn trimmed(candidate: &dyn Candidate) -> Outcome {
    let store = candidate.fresh();
    open(&*store, 3, 1)?;
    let mut places = Vec::new();
    for number in 1..=10 {
        places.push(append(&*store, 3, 1, number, &content(3, number)).map_err(text)?);
    }
    let place = |index: usize| places.get(index).copied().unwrap_or_default();
    let left = |store: &dyn Store| -> Result<Vec<u64>, String> {
        Ok(frames(store, 3, 0)?.into_iter().map(|(lsn, _)| lsn).collect())
    };
    store.trim(Partition(3), place(4)).map_err(text)?;
    let expected: Vec<u64> = places.iter().skip(4).map(|lsn| lsn.0).collect();
    same("what is left", left(&*store)?, expected.clone())?;
    store.trim(Partition(3), place(2)).map_err(text)?;
    store.trim(Partition(3), Lsn(0)).map_err(text)?;
    same("what is left after trimming less", left(&*store)?, expected.clone())?;
    let store = candidate.reopen(store);
    same("what is left after opening anew", left(&*store)?, expected)?;
    let again = append(&*store, 3, 1, 2, &content(3, 2)).map_err(text)?;
    same("the place of a trimmed frame appended again", again, place(1))?;
    store.trim(Partition(3), Lsn(place(9).0 + 1)).map_err(text)?;
    same("what is left of all", left(&*store)?, Vec::new())?;
    let store = candidate.reopen(store);
    same("the last place", open(&*store, 3, 1)?, place(9))?;
    let next = append(&*store, 3, 1, 11, b"on").map_err(text)?;
    must(next > place(9), || format!("the next frame has place {next:?}"))?;
    same("what is there then", left(&*store)?, vec![next.0])
}

fn sizes(candidate: &dyn Candidate) -> Outcome {
    let store = candidate.fresh();
    let partitions = store.partitions();
    let none = Partition(partitions);
    let opened = store.open(none, Epoch(1));
    must(matches!(opened, Err(OpenError::NoSuchPartition { .. })), || format!("no such partition: {opened:?}"))?;
    let result = store.append(&[Append { partition: none, epoch: Epoch(1), number: 1, frame: b"x" }]);
    must(matches!(result.as_slice(), [Err(AppendError::NotOpen { .. })]), || format!("no such partition: {result:?}"))?;
    open(&*store, partitions - 1, 1)?;
    let bytes_max = store.promises().frame_bytes_max;
    let big: Vec<u8> = (0..=bytes_max).map(|index| (index % 251) as u8).collect();
    let fits = big.get(1..).unwrap_or_default();
    let last = partitions - 1;
    let results =
        store.append(&[one(last, 1, 1, b"x"), one(last, 1, 2, &big), one(last, 1, 3, b"y"), one(last, 1, 2, fits)]);
    let too_big = AppendError::TooBig { bytes: big.len(), bytes_max };
    must(
        matches!(results.as_slice(), [Ok(_), Err(error), Err(AppendError::Behind), Ok(_)] if *error == too_big),
        || format!("1, too big, 3, as big as may be: {results:?}"),
    )?;
    let store = candidate.reopen(store);
    let found = frames(&*store, last, 0)?;
    must(found.iter().map(|(_, frame)| frame.as_slice()).eq([&b"x"[..], fits]), || "the big frame differs".to_owned())
}

fn enough(candidate: &dyn Candidate) -> Outcome {
    let store = candidate.fresh();
    open(&*store, 1, 1)?;
    for number in 1..=600 {
        append(&*store, 1, 1, number, b"x").map_err(text)?;
    }
    let mut seen = 0;
    let mut each = |_: Lsn, _: &[u8]| {
        seen += 1;
        if seen == 300 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    Journal::read(&*store, Partition(1), Lsn(0), &mut each).map_err(text)?;
    same("frames seen", seen, 300)?;
    // A reader may use the store meanwhile.
    let mut outcome = Ok(Lsn(0));
    let mut each = |lsn: Lsn, _: &[u8]| {
        if lsn.0 == 1 {
            outcome = append(&*store, 1, 1, 601, b"x");
        }
        ControlFlow::Continue(())
    };
    Journal::read(&*store, Partition(1), Lsn(0), &mut each).map_err(text)?;
    outcome.map(drop).map_err(text)
}
