//! Audit log: refusals and allowed acts, as lines of JSON in files.
//!
//! Equal entries are folded ([`Folding`]): the first one is written at once, and later the number of further ones. A
//! caller hands a line to a thread of the log's own and never waits. If that thread falls behind by [`AUDIT_QUEUE_MAX`]
//! lines, further ones are only counted, and a line gives their number. Each standing of parties has a file of its own:
//! `FILE` for agents and nodes, `FILE.operators`, and `FILE.outside`. So no party displaces what parties of another
//! standing did.
//! A file of [`AUDIT_FILE_BYTES_MAX`] bytes is renamed to `FILE.1`, the one before to `FILE.2` and so on,
//! [`AUDIT_FILES_MAX`] of them.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde::Serialize;
use time::OffsetDateTime;
use whimbrel_platform::Time;
use whimbrel_platform::audit::{
    Act, AuditEntry, Auditor, Folded, Folding, Outcome, PerStanding, RefusalCounts, RefusalReason, Refused, Standing,
    WordedEntry,
};
use whimbrel_platform::limits::{AUDIT_FILE_BYTES_MAX, AUDIT_FILES_MAX, AUDIT_QUEUE_MAX};

/// Interval at which the writer looks for counts that are due.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// One line of the log.
#[derive(Serialize)]
struct AuditEntryLine<'a> {
    /// RFC 3339, UTC.
    time: String,
    reason: &'a str,
    who: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    from: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    action: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    object: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    detail: &'a str,
    #[serde(skip_serializing_if = "is_one")]
    count: u64,
    /// The entry as a sentence, for people.
    text: String,
}

fn is_one(count: &u64) -> bool {
    *count == 1
}

/// Returns the path of the file for entries of this standing.
pub(crate) fn file_of(path: &Path, standing: Standing) -> PathBuf {
    match standing {
        Standing::Member => path.to_owned(),
        Standing::Operator => PathBuf::from(format!("{}.operators", path.display())),
        Standing::Outside => PathBuf::from(format!("{}.outside", path.display())),
    }
}

/// Returns the number of waiting lines beyond which entries of this standing are only counted.
const fn room_of(standing: Standing) -> usize {
    match standing {
        Standing::Operator => AUDIT_QUEUE_MAX,
        Standing::Member => AUDIT_QUEUE_MAX / 4 * 3,
        Standing::Outside => AUDIT_QUEUE_MAX / 2,
    }
}

/// Audit log. Dropping it writes all entries that were handed over.
pub struct AuditLog {
    counts: RefusalCounts,
    lines: Option<SyncSender<DueLine>>,
    shared: Arc<AuditShared>,
    writer: Option<JoinHandle<()>>,
}

/// State that an audit log and its writer thread share.
struct AuditShared {
    began: Instant,
    folding: Mutex<Folding>,
    /// Number of entries of each standing that were not written.
    lost: PerStanding<AtomicU64>,
    /// Lines that were handed over and are not in a file yet.
    pending: AtomicU64,
}

/// Line to write.
struct DueLine {
    text: String,
    standing: Standing,
}

impl AuditShared {
    fn now(&self) -> Time {
        Time(u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX))
    }

    fn folding(&self) -> MutexGuard<'_, Folding> {
        self.folding.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AuditLog {
    /// Opens the files of the log of this path for appending.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn open(path: &Path) -> io::Result<Self> {
        Self::bounded(path, AUDIT_FILE_BYTES_MAX)
    }

    fn bounded(path: &Path, bytes_max: u64) -> io::Result<Self> {
        let files = PerStanding::try_of(|standing| RotatedFiles::open(&file_of(path, standing), bytes_max))?;
        let (lines, due) = sync_channel(AUDIT_QUEUE_MAX);
        let shared = Arc::new(AuditShared {
            began: Instant::now(),
            folding: Mutex::default(),
            lost: Default::default(),
            pending: AtomicU64::new(0),
        });
        let mut writer = AuditWriter { files, shared: Arc::clone(&shared) };
        let writer =
            std::thread::Builder::new().name("whimbrel-audit".to_owned()).spawn(move || writer.write_all(&due))?;
        Ok(Self { counts: RefusalCounts::default(), lines: Some(lines), shared, writer: Some(writer) })
    }

    /// Waits until all that was handed over is in the files, counts included; this long at most.
    pub fn settle(&self, at_most: Duration) {
        let until = Instant::now() + at_most;
        let rest = self.shared.folding().rest(self.shared.now());
        rest.iter().for_each(|folded| self.hand_over(folded));
        while self.shared.pending.load(Ordering::Acquire) > 0 && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Counts of refusals, by reason.
    pub fn counts(&self) -> &RefusalCounts {
        &self.counts
    }

    fn enter(&self, entry: &AuditEntry<'_>) {
        let first = self.shared.folding().note(entry, self.shared.now());
        if let Some(first) = first {
            self.hand_over(&first);
        }
    }

    fn hand_over(&self, folded: &Folded) {
        let Some(lines) = &self.lines else { return };
        let standing = folded.standing;
        if self.shared.pending.fetch_add(1, Ordering::Relaxed) < room_of(standing) as u64 {
            let line = DueLine { text: line_of(folded, OffsetDateTime::now_utc()), standing };
            match lines.try_send(line) {
                Ok(()) => return,
                Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => {}
            }
        }
        self.shared.pending.fetch_sub(1, Ordering::Relaxed);
        self.shared.lost[standing].fetch_add(folded.count, Ordering::Relaxed);
    }
}

impl Auditor for AuditLog {
    fn refused(&self, what: &Refused<'_>) {
        self.counts.count(what.reason);
        self.enter(&AuditEntry::from(what));
    }

    fn allowed(&self, what: &Act<'_>) {
        self.enter(&AuditEntry::from(what));
    }
}

impl Drop for AuditLog {
    fn drop(&mut self) {
        drop(self.lines.take());
        if let Some(writer) = self.writer.take() {
            let _ = writer.join();
        }
    }
}

fn line_of(folded: &Folded, now: OffsetDateTime) -> String {
    let Folded { outcome, who, from, action, object, detail, count, .. } = folded;
    let line = AuditEntryLine {
        time: rfc3339(now),
        reason: outcome.as_str(),
        who,
        from,
        action,
        object,
        detail,
        count: *count,
        text: WordedEntry::from(folded).sentence(),
    };
    // Texts alone can always be encoded.
    serde_json::to_string(&line).unwrap_or_default()
}

pub(crate) fn rfc3339(at: OffsetDateTime) -> String {
    let (year, month, day) = at.to_calendar_date();
    let (hour, minute, second, ms) = at.to_hms_milli();
    format!("{year:04}-{:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{ms:03}Z", u8::from(month))
}

/// Thread that writes the lines.
struct AuditWriter {
    files: PerStanding<RotatedFiles>,
    shared: Arc<AuditShared>,
}

impl AuditWriter {
    fn write_all(&mut self, due: &Receiver<DueLine>) {
        loop {
            match due.recv_timeout(LOOK_EVERY) {
                Ok(line) => {
                    self.write(&line.text, line.standing, 1);
                    self.shared.pending.fetch_sub(1, Ordering::Release);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            let folded = self.shared.folding().due(self.shared.now());
            self.write_folded(&folded);
        }
        let rest = self.shared.folding().rest(self.shared.now());
        self.write_folded(&rest);
    }

    fn write_folded(&mut self, folded: &[Folded]) {
        for one in folded {
            self.write(&line_of(one, OffsetDateTime::now_utc()), one.standing, one.count);
        }
    }

    fn write(&mut self, line: &str, standing: Standing, count: u64) {
        let (file, lost) = (&mut self.files[standing], &self.shared.lost[standing]);
        // An entry that cannot be written (the disk is full) is lost; the log says so as soon as it can be written
        // again.
        if file.write(line).is_err() {
            lost.fetch_add(count, Ordering::Relaxed);
            return;
        }
        let lost = lost.swap(0, Ordering::Relaxed);
        if lost > 0 {
            let gap = Folded {
                outcome: Outcome::Refused(RefusalReason::TooMany),
                standing,
                who: "audit".to_owned(),
                from: String::new(),
                action: String::new(),
                object: String::new(),
                detail: "entries not written: too many at once, or the disk was full".to_owned(),
                count: lost,
            };
            let _ = file.write(&line_of(&gap, OffsetDateTime::now_utc()));
        }
    }
}

/// Current file of the log, with its rotated predecessors.
struct RotatedFiles {
    path: PathBuf,
    file: File,
    bytes: u64,
    bytes_max: u64,
}

impl RotatedFiles {
    fn open(path: &Path, bytes_max: u64) -> io::Result<Self> {
        let file = whimbrel_files::append(path)?;
        let bytes = file.metadata()?.len();
        Ok(Self { path: path.to_owned(), file, bytes, bytes_max })
    }

    fn write(&mut self, line: &str) -> io::Result<()> {
        if self.bytes > 0 && self.bytes + line.len() as u64 >= self.bytes_max {
            self.put_aside()?;
        }
        // In one piece: a reader never sees half a line.
        let whole = format!("{line}\n");
        self.file.write_all(whole.as_bytes())?;
        self.bytes += whole.len() as u64;
        Ok(())
    }

    fn put_aside(&mut self) -> io::Result<()> {
        let name = |number: usize| match number {
            0 => self.path.clone(),
            number => PathBuf::from(format!("{}.{number}", self.path.display())),
        };
        for number in (0..AUDIT_FILES_MAX).rev() {
            match fs::rename(name(number), name(number + 1)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        *self = Self::open(&self.path, self.bytes_max)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;
    use whimbrel_platform::audit::Party;
    use whimbrel_platform::policy::Action;

    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("whimbrel-audit-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    fn lines(path: &Path) -> Vec<Value> {
        fs::read_to_string(path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[test]
    fn refusals_become_lines() {
        let folder = folder("lines");
        let path = folder.join("audit.jsonl");
        let log = AuditLog::open(&path).unwrap();
        log.refused(&Refused::forbidden("agent:spy", Action::Send, "vault"));
        log.refused(&Refused::somebody(RefusalReason::Revoked, "node:n9", "a \"quoted\"\nreason"));
        assert_eq!(log.counts().of(RefusalReason::Revoked), 1);
        log.settle(Duration::from_secs(10));
        assert_eq!(lines(&path).len(), 2);
        drop(log);
        let lines = lines(&path);
        let field = |line: usize, key: &str| lines[line][key].as_str().unwrap_or_default().to_owned();
        assert_eq!(
            (field(0, "reason"), field(0, "action"), field(0, "object")),
            ("forbidden".into(), "send".into(), "vault".into())
        );
        assert_eq!((field(1, "who"), field(1, "detail")), ("node:n9".into(), "a \"quoted\"\nreason".into()));
        assert!(lines[1].get("action").is_none());
        assert_eq!(field(0, "time").len(), "2026-01-01T00:00:00.000Z".len());
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn the_log_is_bounded() {
        let folder = folder("bounded");
        let path = folder.join("audit.jsonl");
        let log = AuditLog::bounded(&path, 2_000).unwrap();
        for number in 0..100 {
            let long = format!("node:{number}{}", "x".repeat(10_000));
            log.refused(&Refused::somebody(RefusalReason::Malformed, &long, ""));
        }
        drop(log);
        let mut names: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        names.sort();
        assert_eq!(names.len(), AUDIT_FILES_MAX + Standing::ALL.len());
        let is_of_members = |name: &&PathBuf| {
            let name = name.to_string_lossy();
            !name.ends_with(".outside") && !name.ends_with(".operators")
        };
        for name in names.iter().filter(is_of_members) {
            let bytes = fs::metadata(name).unwrap().len();
            assert!(bytes > 0 && bytes <= 2_000, "{} has {bytes} bytes", name.display());
            assert!(!lines(name).is_empty());
        }
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn strangers_displace_nothing() {
        let folder = folder("flood");
        let path = folder.join("audit.jsonl");
        let log = AuditLog::bounded(&path, 2_000).unwrap();
        log.refused(&Refused::forbidden("agent:spy", Action::Send, "vault"));
        let act = Act {
            who: Party::Operator("token:admin"),
            from: "http 10.0.0.9",
            action: "kill",
            object: "bob",
            detail: "",
        };
        log.allowed(&act);
        for number in 0..100_000_u32 {
            let from = (number % 3_000).to_be_bytes().into();
            log.refused(&Refused::stranger(RefusalReason::BadToken, from, "GET /api/v1/node"));
        }
        log.settle(Duration::from_secs(10));
        let acts = lines(&file_of(&path, Standing::Operator));
        assert_eq!((lines(&path).len(), acts.len()), (1, 1), "{acts:?}");
        assert_eq!((&acts[0]["reason"], &acts[0]["from"]), (&"allowed".into(), &"http 10.0.0.9".into()));
        drop(log);
        let flood = file_of(&path, Standing::Outside);
        let newest = lines(&flood);
        assert!(newest.iter().any(|line| line["count"].as_u64() > Some(1)), "{newest:?}");
        assert!(fs::metadata(&flood).unwrap().len() <= 2_000);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn equal_refusals_are_folded() {
        let folder = folder("equal");
        let path = folder.join("audit.jsonl");
        let log = AuditLog::open(&path).unwrap();
        for _ in 0..45_000 {
            log.refused(&Refused::stranger(RefusalReason::BadToken, [127, 0, 0, 1].into(), "GET /"));
        }
        drop(log);
        let kept = lines(&file_of(&path, Standing::Outside));
        assert_eq!(kept.len(), 2, "{kept:?}");
        assert_eq!((kept[0].get("count"), &kept[1]["count"]), (None, &44_999.into()));
        assert!(kept.iter().all(|line| line["reason"] == "bad_token" && line["who"] == "127.0.0.1"));
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn times_are_rfc_3339() {
        let at = OffsetDateTime::from_unix_timestamp_nanos(1_784_000_000_123_456_789).unwrap();
        assert_eq!(rfc3339(at), "2026-07-14T03:33:20.123Z");
    }
}
