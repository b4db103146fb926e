//! Recovery after a process or a machine died during a write: every acknowledged record is there, perhaps some of the
//! others, never anything else. Damage to acknowledged records is reported.

use std::io::{BufRead, BufReader, Write};
use std::ops::ControlFlow;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use whimbrel_platform::store::{Append, Epoch, Journal, Lsn, Partition, StoreError};
use whimbrel_store::{Embedded, OpenOptions, Report, check};
use whimbrel_testkit::Random;

use crate::folders::StoreFolder;

pub const PARTITIONS: u16 = 4;
/// Environment variable that tells the killed process its store.
const CHILD_FOLDER: &str = "WHIMBREL_TEST_STORE";

pub fn options() -> OpenOptions {
    OpenOptions { segment_bytes: 256 << 10, ..OpenOptions::default() }
}

/// The only frame that is ever appended at this place of this partition.
pub fn content(partition: u16, sequence: u64) -> Vec<u8> {
    let mut random = Random::new(u64::from(partition) << 32 | sequence);
    let length = random.between(0..=600);
    let head = [&partition.to_le_bytes()[..], &sequence.to_le_bytes()].concat();
    head.into_iter().chain((0..length).map(|_| random.next_u64() as u8)).collect()
}

/// Reads a partition: returns the number of frames, and the error at which reading ended.
pub fn read(store: &Embedded, partition: u16) -> (u64, Result<(), StoreError>) {
    let mut count = 0;
    let outcome = Journal::read(store, Partition(partition), Lsn(0), &mut |lsn, frame| {
        count += 1;
        assert_eq!(lsn.0, count, "partition {partition}");
        assert!(frame == content(partition, count), "partition {partition}: frame {count} is garbage");
        ControlFlow::Continue(())
    });
    (count, outcome)
}

/// The owner of all partitions.
pub struct PartitionOwner {
    random: Random,
    epoch: Epoch,
    begun: Vec<u64>,
    written: Vec<u64>,
}

impl PartitionOwner {
    pub fn new(store: &Embedded, seed: u64) -> Self {
        let begun: Vec<u64> = (0..PARTITIONS).map(|partition| read(store, partition).0).collect();
        // Each is an owner of its own, also one that wrote nothing.
        let epoch = (1..).map(Epoch).find(|epoch| store.open(Partition(0), *epoch).is_ok()).unwrap();
        let epoch = Epoch(epoch.0 + 1);
        for partition in 0..PARTITIONS {
            store.open(Partition(partition), epoch).unwrap();
        }
        Self { random: Random::new(seed), epoch, written: begun.clone(), begun }
    }

    /// Appends frames to all partitions in one call, and reports those that were acknowledged.
    pub fn write(&mut self, store: &Embedded, mut acknowledged: impl FnMut(u16, u64)) {
        let mut contents = Vec::new();
        for _ in 0..self.random.between(1..=12) {
            let partition = self.random.between(0..=u64::from(PARTITIONS) - 1) as usize;
            self.written[partition] += 1;
            let sequence = self.written[partition];
            contents.push((partition, sequence, content(partition as u16, sequence)));
        }
        let appends: Vec<Append<'_>> = contents
            .iter()
            .map(|(partition, sequence, frame)| Append {
                partition: Partition(*partition as u16),
                epoch: self.epoch,
                number: sequence - self.begun[*partition],
                frame,
            })
            .collect();
        for (result, (partition, sequence, _)) in store.append(&appends).into_iter().zip(&contents) {
            assert_eq!(result, Ok(Lsn(*sequence)));
            acknowledged(*partition as u16, *sequence);
        }
    }
}

/// Appends frames of a new owner to all partitions in this many calls.
pub fn write(store: &Embedded, seed: u64, calls: u64, mut acknowledged: impl FnMut(u16, u64)) {
    let mut owner = PartitionOwner::new(store, seed);
    for _ in 0..calls {
        owner.write(store, &mut acknowledged);
    }
}

/// Not a test of its own: the process that `killed_process_keeps_acknowledged_frames` kills.
#[test]
fn writes_until_killed() {
    let Some(folder) = std::env::var_os(CHILD_FOLDER) else { return };
    let store = Embedded::open(Path::new(&folder), &options()).unwrap();
    write(&store, u64::from(std::process::id()), u64::MAX, |partition, sequence| {
        let line = format!("ack {partition} {sequence}\n");
        std::io::stdout().lock().write_all(line.as_bytes()).unwrap();
    });
}

fn start(folder: &StoreFolder) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "torn::writes_until_killed", "--nocapture"])
        .env(CHILD_FOLDER, folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
fn killed_process_keeps_acknowledged_frames() {
    let rounds = std::env::var("WHIMBREL_ROUNDS").map_or(5, |rounds| rounds.parse().unwrap());
    let folder = StoreFolder::new("killed");
    let mut random = Random::new(7);
    let mut before = [0; PARTITIONS as usize];
    for round in 0..rounds {
        let mut child = start(&folder);
        let mut told = before;
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut left = random.between(1..=2_000);
        for line in lines {
            let line = line.unwrap();
            let mut words = line.split(' ').skip_while(|word| !word.ends_with("ack"));
            if let (Some(_), Some(partition), Some(sequence)) = (words.next(), words.next(), words.next()) {
                told[partition.parse::<usize>().unwrap()] = sequence.parse().unwrap();
                left -= 1;
            }
            if left == 0 {
                child.kill().unwrap();
                // Only its lines before that count.
                left = u64::MAX;
            }
        }
        child.wait().unwrap();
        let store = Embedded::open(folder.path(), &options()).unwrap();
        assert_eq!(store.found().damage, [], "round {round}");
        for partition in 0..PARTITIONS {
            let (count, outcome) = read(&store, partition);
            assert_eq!(outcome, Ok(()));
            let told = told[usize::from(partition)];
            assert!(count >= told, "round {round}, partition {partition}: {told} were acknowledged, {count} are there");
            before[usize::from(partition)] = count;
        }
    }
    assert!(before.iter().all(|count| *count > 0), "{before:?}");
    eprintln!("{rounds} rounds of kill -9: {before:?} frames, none lost");
}

fn last_segment(folder: &Path) -> std::path::PathBuf {
    let files = std::fs::read_dir(folder.join("journal")).unwrap();
    files.map(|file| file.unwrap().path()).max().unwrap()
}

/// A copy of a store that is not written to meanwhile.
pub fn copy(from: &Path, to: &Path) {
    for inner in ["journal", "blobs"] {
        std::fs::create_dir_all(to.join(inner)).unwrap();
        for file in std::fs::read_dir(from.join(inner)).unwrap() {
            let path = file.unwrap().path();
            std::fs::copy(&path, to.join(inner).join(path.file_name().unwrap())).unwrap();
        }
    }
    std::fs::copy(from.join("store"), to.join("store")).unwrap();
    // Stores of the first release have none.
    let _ = std::fs::copy(from.join(MARK), to.join(MARK));
}

/// File that records up to where the journal was flushed.
const MARK: &str = "flushed";

/// A power cut: of the last call's bytes, any sectors may be there, and any not.
#[test]
fn power_cut_keeps_flushed_frames() {
    const SECTOR: usize = 512;
    let mut random = Random::new(11);
    for round in 0..60 {
        let (folder, after) = (StoreFolder::new("cut"), StoreFolder::new("cut-after"));
        let mut safe = [0; PARTITIONS as usize];
        let store = Embedded::open(folder.path(), &options()).unwrap();
        let mut owner = PartitionOwner::new(&store, round);
        for _ in 0..random.between(1..=20) {
            owner.write(&store, |partition, sequence| safe[usize::from(partition)] = sequence);
        }
        let path = last_segment(folder.path());
        let before = std::fs::read(&path).unwrap();
        let mark = std::fs::read(folder.path().join(MARK)).unwrap();
        let mut torn = safe;
        owner.write(&store, |partition, sequence| torn[usize::from(partition)] = sequence);
        copy(folder.path(), after.path());
        // The mark is only written after the flush.
        std::fs::write(after.path().join(MARK), mark).unwrap();
        let path = last_segment(after.path());
        if path.file_name() != last_segment(folder.path()).file_name() {
            continue;
        }
        let mut bytes = std::fs::read(&path).unwrap();
        if random.one_in(3) {
            let least = bytes.iter().zip(&before).take_while(|(a, b)| a == b).count();
            bytes.truncate(random.between(least as u64..=bytes.len() as u64) as usize);
        }
        for (index, sector) in bytes.chunks_mut(SECTOR).enumerate() {
            if random.one_in(2) {
                let old = before.iter().skip(index * SECTOR).chain(std::iter::repeat(&0));
                sector.iter_mut().zip(old).for_each(|(to, from)| *to = *from);
            }
        }
        std::fs::write(&path, &bytes).unwrap();
        for again in 0..2 {
            let store = Embedded::open(after.path(), &options()).unwrap();
            assert_eq!(store.found().damage, [], "round {round}, {again}");
            for partition in 0..PARTITIONS {
                let (count, outcome) = read(&store, partition);
                assert_eq!(outcome, Ok(()));
                let (safe, torn) = (safe[usize::from(partition)], torn[usize::from(partition)]);
                assert!(
                    (safe..=torn).contains(&count),
                    "round {round}: {safe} were safe, {torn} written, {count} there"
                );
            }
            // The store continues from there.
            write(&store, round, 2, |partition, sequence| {
                safe[usize::from(partition)] = sequence;
                torn[usize::from(partition)] = sequence;
            });
            torn.iter_mut().for_each(|torn| *torn = u64::MAX);
        }
    }
}

/// The check says how much was being written when the process died, whatever room the file has behind it.
#[test]
fn torn_batch_is_measured() {
    const GARBAGE: usize = 100;
    let folder = StoreFolder::new("measured");
    let store = Embedded::open(folder.path(), &options()).unwrap();
    write(&store, 1, 3, |_, _| ());
    drop(store);
    let path = last_segment(folder.path());
    let whole = std::fs::read(&path).unwrap();
    for room in [0, 4_096] {
        let bytes = [&whole[..], &[7; GARBAGE], &vec![0; room]].concat();
        std::fs::write(&path, &bytes).unwrap();
        let report = check(folder.path(), &mut |_, _| ControlFlow::Continue(())).unwrap();
        assert_eq!((report.torn_bytes, report.damage), (GARBAGE, Vec::new()), "{room} bytes of room");
    }
}

/// Bits that turned, bytes that are gone: said, with their place.
#[test]
fn damage_is_reported_never_skipped() {
    let folder = StoreFolder::new("damage");
    let mut there = [0; PARTITIONS as usize];
    let mut store = Embedded::open(folder.path(), &options()).unwrap();
    write(&store, 3, 150, |partition, sequence| there[usize::from(partition)] = sequence);
    drop(store);
    // Written in two lives.
    store = Embedded::open(folder.path(), &options()).unwrap();
    write(&store, 4, 150, |partition, sequence| there[usize::from(partition)] = sequence);
    drop(store);
    let mut random = Random::new(5);
    let (mut refused, mut said) = (0, 0);
    for round in 0..150 {
        let copied = StoreFolder::new("damage-copy");
        copy(folder.path(), copied.path());
        let mut files: Vec<_> = std::fs::read_dir(copied.path().join("journal")).unwrap().collect();
        files.sort_by_key(|file| file.as_ref().unwrap().path());
        let path = random.pick(&files).unwrap().as_ref().unwrap().path();
        let mut bytes = std::fs::read(&path).unwrap();
        let at = random.between(0..=bytes.len() as u64 - 1) as usize;
        match round % 3 {
            0 => bytes[at] ^= 1 << random.between(0..=7),
            1 => bytes.truncate(at),
            _ => bytes.iter_mut().skip(at).take(4_096).for_each(|byte| *byte = 0),
        }
        std::fs::write(&path, &bytes).unwrap();
        match Embedded::open(copied.path(), &options()) {
            Err(error) => {
                refused += 1;
                assert!(error.to_string().contains("is damaged: "), "{error}");
            }
            Ok(store) => {
                let mut missing = 0;
                for partition in 0..PARTITIONS {
                    let (count, outcome) = read(&store, partition);
                    match outcome {
                        // The reader stopped at the first damaged frame, and named it.
                        Err(error) => {
                            said += 1;
                            let place = format!("partition {partition}, frame {}", count + 1);
                            assert!(error.to_string().contains(&place), "{error}, not {place}");
                            assert!(
                                store.found().damage.iter().any(|damage| {
                                    damage.partition == Some(Partition(partition)) && damage.first.0 == count + 1
                                }) || !path.ends_with(last_segment(copied.path()).file_name().unwrap())
                            );
                        }
                        Ok(()) => missing += there[usize::from(partition)] - count,
                    }
                }
                assert!(missing == 0, "round {round}: {missing} frames were skipped in silence");
            }
        }
    }
    assert!(refused > 10 && said > 20, "{refused} refused, {said} said");
}

/// Returns the number of frames of each partition, if no damage is reported.
fn undamaged(folder: &Path) -> Option<Vec<u64>> {
    let report = check(folder, &mut |_, _| ControlFlow::Continue(())).ok().filter(|report| report.damage.is_empty())?;
    Some((0..PARTITIONS).map(|partition| frames_of(&report, partition)).collect())
}

fn frames_of(report: &Report, partition: u16) -> u64 {
    report.opened.iter().find(|one| one.partition.0 == partition).map_or(0, |one| one.frames)
}

/// Cuts each file of a store at each byte, and garbles each byte: all acknowledged frames are there, or damage is
/// reported.
fn cut_and_garble(folder: &Path, there: &[u64]) -> usize {
    let segments = std::fs::read_dir(folder.join("journal")).unwrap().map(|file| file.unwrap().path());
    let mut tried = 0;
    for path in segments.chain([folder.join("store"), folder.join(MARK)]) {
        let whole = std::fs::read(&path).unwrap();
        let used = whole.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        for at in 0..whole.len().min(used + 16) {
            let mut garbled = whole.clone();
            garbled[at] ^= 0x5A;
            let zeroed: Vec<u8> = whole[..at].iter().copied().chain(vec![0; whole.len() - at]).collect();
            for (how, bytes) in [("cut", &whole[..at]), ("garbled", &garbled), ("zeroed", &zeroed)] {
                std::fs::write(&path, bytes).unwrap();
                if let Some(found) = undamaged(folder) {
                    assert_eq!(found, there, "{} {how} at byte {at}", path.display());
                }
                tried += 1;
            }
        }
        std::fs::write(&path, &whole).unwrap();
    }
    assert_eq!(undamaged(folder).as_deref(), Some(there));
    tried
}

#[test]
fn journal_cut_anywhere_is_damaged() {
    let (folder, running) = (StoreFolder::new("cut-anywhere"), StoreFolder::new("cut-running"));
    let store = Embedded::open(folder.path(), &options()).unwrap();
    store.open(Partition(1), Epoch(1)).unwrap();
    store.open(Partition(2), Epoch(1)).unwrap();
    for number in 1..=3 {
        let append = |partition, frame| Append { partition: Partition(partition), epoch: Epoch(1), number, frame };
        let results = store.append(&[append(1, &b"belief"[..]), append(2, b"an intention")]);
        assert!(results.iter().all(Result::is_ok));
    }
    // One copy is as a killed process leaves the store, the other as an orderly end does.
    copy(folder.path(), running.path());
    drop(store);
    let path = last_segment(running.path());
    let bytes = std::fs::read(&path).unwrap();
    let used = bytes.iter().rposition(|byte| *byte != 0).unwrap();
    std::fs::write(&path, &bytes[..used + 100]).unwrap();
    let tried = std::thread::scope(|scope| {
        let tried = [&folder, &running].map(|folder| scope.spawn(|| cut_and_garble(folder.path(), &[0, 3, 3, 0])));
        tried.map(|tried| tried.join().unwrap())
    });
    assert!(tried.iter().all(|tried| *tried > 2_000), "{tried:?}");
}

#[test]
fn missing_frames_are_counted() {
    let folder = StoreFolder::new("counted");
    let store = Embedded::open(folder.path(), &options()).unwrap();
    let (mut last_call, mut all) = (0, 0);
    let mut owner = PartitionOwner::new(&store, 9);
    for _ in 0..5 {
        last_call = 0;
        owner.write(&store, |_, _| (last_call, all) = (last_call + 1, all + 1));
    }
    let path = last_segment(folder.path());
    let whole = std::fs::read(&path).unwrap();
    let end = whole.iter().rposition(|byte| *byte != 0).unwrap();
    drop(store);
    // Into the last call's batch, which ends where the empty one begins that says that the store was left.
    std::fs::write(&path, &whole[..end - 8]).unwrap();
    let report = check(folder.path(), &mut |_, _| ControlFlow::Continue(())).unwrap();
    let left: u64 = (0..PARTITIONS).map(|partition| frames_of(&report, partition)).sum();
    assert!(left < all && all - left <= last_call, "{left} of {all}");
    let said = report.damage.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
    let missing =
        if all - left == 1 { "1 frame is missing".into() } else { format!("{} frames are missing", all - left) };
    assert!(said.contains(&missing), "{said}");
}

/// A file that ends in the padding of an acknowledged batch: the next batch begins behind the padding all the same.
#[test]
fn lost_padding_costs_no_batch() {
    let mut cut = 0;
    for round in 0..12 {
        let (folder, after) = (StoreFolder::new("padded"), StoreFolder::new("padding"));
        let mut safe = [0; PARTITIONS as usize];
        let store = Embedded::open(folder.path(), &options()).unwrap();
        write(&store, round, 2, |partition, sequence| safe[usize::from(partition)] = sequence);
        // As a kill leaves it: what was allocated beyond the last batch is zero.
        copy(folder.path(), after.path());
        drop(store);
        let path = last_segment(after.path());
        let bytes = std::fs::read(&path).unwrap();
        let data = bytes.iter().rposition(|byte| *byte != 0).unwrap() + 1;
        cut += data.next_multiple_of(8) - data;
        std::fs::write(&path, &bytes[..data]).unwrap();
        for again in 0..3 {
            let store = Embedded::open(after.path(), &options()).unwrap();
            assert_eq!(store.found().damage, [], "round {round}, {again}");
            for partition in 0..PARTITIONS {
                assert_eq!(read(&store, partition), (safe[usize::from(partition)], Ok(())), "round {round}, {again}");
            }
            write(&store, round, 1, |partition, sequence| safe[usize::from(partition)] = sequence);
        }
    }
    assert!(cut > 0, "no record had padding");
}
