//! The audit log: what was refused, as lines of JSON in a file.
//!
//! Whoever refuses something hands a line to a thread of the log's own and never waits: if the thread falls behind by
//! [`AUDIT_QUEUE_MAX`] lines, further ones are only counted, and a line says how many those were. The file is put aside
//! when it has [`AUDIT_FILE_BYTES_MAX`] bytes, as `FILE.1`, the one before as `FILE.2` and so on, [`AUDIT_FILES_MAX`] of them.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde::Serialize;
use time::OffsetDateTime;
use whimbrel_platform::audit::{Auditor, RefusalCounts, RefusalReason, Refused};
use whimbrel_platform::limits::{AUDIT_FILE_BYTES_MAX, AUDIT_FILES_MAX, AUDIT_QUEUE_MAX, AUDIT_TEXT_BYTES_MAX};

/// One line of the log.
#[derive(Serialize)]
struct Line<'a> {
    /// RFC 3339, UTC.
    time: String,
    reason: &'a str,
    who: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    action: Option<&'a str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    object: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    detail: &'a str,
}

/// See the module. What was handed over is written before it is dropped.
pub struct AuditLog {
    counts: RefusalCounts,
    lines: Option<SyncSender<String>>,
    lost: Arc<AtomicU64>,
    /// Handed over and not in the file yet.
    pending: Arc<AtomicU64>,
    writer: Option<JoinHandle<()>>,
}

impl AuditLog {
    /// A log that is appended to this file.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn open(path: &Path) -> io::Result<Self> {
        Self::bounded(path, AUDIT_FILE_BYTES_MAX)
    }

    fn bounded(path: &Path, bytes_max: u64) -> io::Result<Self> {
        let file = Files::open(path, bytes_max)?;
        let (lines, due) = sync_channel(AUDIT_QUEUE_MAX);
        let lost = Arc::<AtomicU64>::default();
        let (left_out, pending) = (Arc::clone(&lost), Arc::<AtomicU64>::default());
        let waiting = Arc::clone(&pending);
        let writer = std::thread::Builder::new()
            .name("whimbrel-audit".to_owned())
            .spawn(move || write_all(file, &due, &left_out, &waiting))?;
        Ok(Self { counts: RefusalCounts::default(), lines: Some(lines), lost, pending, writer: Some(writer) })
    }

    /// Waits until all that was handed over is in the file, this long at most.
    pub fn settle(&self, at_most: Duration) {
        let until = Instant::now() + at_most;
        while self.pending.load(Ordering::Acquire) > 0 && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// How often which reason was given.
    pub fn counts(&self) -> &RefusalCounts {
        &self.counts
    }
}

impl Auditor for AuditLog {
    fn refused(&self, what: &Refused<'_>) {
        self.counts.count(what.reason);
        let line = line_of(what, OffsetDateTime::now_utc());
        let Some(lines) = &self.lines else { return };
        self.pending.fetch_add(1, Ordering::Relaxed);
        if let Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) = lines.try_send(line) {
            self.pending.fetch_sub(1, Ordering::Relaxed);
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
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

fn line_of(what: &Refused<'_>, now: OffsetDateTime) -> String {
    let Refused { reason, who, action, object, detail } = *what;
    let line = Line {
        time: rfc3339(now),
        reason: reason.as_str(),
        who: cut(who),
        action: action.map(|action| action.as_str()),
        object: cut(object),
        detail: cut(detail),
    };
    // Texts and nothing else: there is nothing in it that cannot be written.
    serde_json::to_string(&line).unwrap_or_default()
}

/// A text's beginning, so that nobody fills the log with a few long names.
fn cut(text: &str) -> &str {
    text.get(..text.floor_char_boundary(AUDIT_TEXT_BYTES_MAX)).unwrap_or_default()
}

pub(crate) fn rfc3339(at: OffsetDateTime) -> String {
    let (year, month, day) = at.to_calendar_date();
    let (hour, minute, second, ms) = at.to_hms_milli();
    format!("{year:04}-{:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{ms:03}Z", u8::from(month))
}

fn write_all(mut file: Files, due: &Receiver<String>, lost: &AtomicU64, pending: &AtomicU64) {
    while let Ok(line) = due.recv() {
        write_one(&mut file, &line, lost);
        pending.fetch_sub(1, Ordering::Release);
    }
}

fn write_one(file: &mut Files, line: &str, lost: &AtomicU64) {
    // What cannot be written now (the disk is full) is lost, and told as soon as something can be.
    if file.write(line).is_err() {
        lost.fetch_add(1, Ordering::Relaxed);
        return;
    }
    let count = lost.swap(0, Ordering::Relaxed);
    if count > 0 {
        let detail = format!("{count} refusals were not written: too many came at once");
        let gap = Refused::somebody(RefusalReason::TooMany, "audit", &detail);
        let _ = file.write(&line_of(&gap, OffsetDateTime::now_utc()));
    }
}

/// The present file, and those that were put aside.
struct Files {
    path: PathBuf,
    file: File,
    bytes: u64,
    bytes_max: u64,
}

impl Files {
    fn open(path: &Path, bytes_max: u64) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.append(true).create(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(path)?;
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
        log.refused(&Refused::somebody(RefusalReason::Revoked, "127.0.0.1:9", "a \"quoted\"\nreason"));
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
        assert_eq!((field(1, "who"), field(1, "detail")), ("127.0.0.1:9".into(), "a \"quoted\"\nreason".into()));
        assert!(lines[1].get("action").is_none());
        assert_eq!(field(0, "time").len(), "2026-01-01T00:00:00.000Z".len());
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn the_log_is_bounded() {
        let folder = folder("bounded");
        let path = folder.join("audit.jsonl");
        let log = AuditLog::bounded(&path, 2_000).unwrap();
        let long = "x".repeat(10_000);
        for _ in 0..100 {
            log.refused(&Refused::somebody(RefusalReason::Malformed, &long, ""));
        }
        drop(log);
        let mut names: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        names.sort();
        assert_eq!(names.len(), AUDIT_FILES_MAX + 1);
        for name in names {
            let bytes = fs::metadata(&name).unwrap().len();
            assert!(bytes > 0 && bytes <= 2_000, "{} has {bytes} bytes", name.display());
            assert!(!lines(&name).is_empty());
        }
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn times_are_written_as_rfc_3339() {
        let at = OffsetDateTime::from_unix_timestamp_nanos(1_784_000_000_123_456_789).unwrap();
        assert_eq!(rfc3339(at), "2026-07-14T03:33:20.123Z");
    }
}
