//! Audit log read from its end, page by page. Entries of known principals and of outside parties are merged by their
//! times, across rotated files.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use ring::digest::{SHA256, digest};
use serde::Deserialize;
use time::{Date, Month};
use whimbrel_platform::audit::{PerStanding, Standing, WordedEntry};
use whimbrel_platform::limits::{AUDIT_FILES_MAX, AUDIT_READ_BYTES_MAX};

use crate::audit::file_of;
use crate::authority::hex;

/// Bytes read at a time; no line is as long.
const BLOCK_BYTES: usize = 64 << 10;
/// Bytes of a file's first line that identify the file, even after it is renamed.
const MARK_BYTES: usize = 1_024;

/// Error of reading an audit log.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AuditReadError {
    /// The files cannot be read.
    #[error("cannot read {path}")]
    File {
        /// Path of the newest file.
        path: String,
        /// The cause.
        source: io::Error,
    },
    /// The cursor is not in the log, or no longer.
    #[error("the cursor is not in the audit log, or no longer: begin at its end")]
    BadCursor,
}

/// Entry of the log.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct AuditLine {
    time: String,
    /// Reason of a refusal, in one word; `allowed` for an act.
    pub reason: String,
    /// Principal or address.
    pub who: String,
    /// Way of the request.
    #[serde(default)]
    pub from: String,
    /// Attempted action.
    #[serde(default)]
    pub action: Option<String>,
    /// Object of the action.
    #[serde(default)]
    pub object: String,
    /// Details.
    #[serde(default)]
    pub detail: String,
    /// Number of equal entries that the line stands for.
    #[serde(default = "one")]
    pub count: u64,
}

const fn one() -> u64 {
    1
}

impl AuditLine {
    /// Returns the entry as a sentence, for people.
    pub fn sentence(&self) -> String {
        let Self { reason, who, from, action, object, detail, count, .. } = self;
        let action = action.as_deref().unwrap_or_default();
        WordedEntry { reason, who, from, action, object, detail, count: *count }.sentence()
    }

    /// Returns the time in milliseconds since 1970-01-01 UTC; 0 if the line has none.
    pub fn at_ms(&self) -> u64 {
        millis_of(&self.time).unwrap_or_default()
    }
}

/// Page of an audit log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditPage {
    /// Lines, the newest first.
    pub lines: Vec<AuditLine>,
    /// Cursor of the next page, if there is more.
    pub next: Option<String>,
}

/// Returns the newest `most` lines of the log at `path`; with the cursor of an earlier page, of the lines before it.
///
/// # Errors
/// The files cannot be read, or the cursor is no longer in them.
pub fn read_back(path: &Path, before: Option<&str>, most: usize) -> Result<AuditPage, AuditReadError> {
    let mut places: Option<Vec<&str>> = before.map(|before| before.split(BETWEEN_PLACES).collect());
    if places.as_ref().is_some_and(|places| places.len() != Standing::ALL.len()) {
        return Err(AuditReadError::BadCursor);
    }
    let mut place_of_next = || places.as_mut().map(|places| places.remove(0));
    let mut trails = PerStanding::try_of(|standing| Trail::of(&file_of(path, standing), place_of_next(), standing))?;
    if before.is_some() && trails.iter().all(|trail| trail.is_at_end) {
        return Err(AuditReadError::BadCursor);
    }
    let (mut page, mut left) = (AuditPage::default(), AUDIT_READ_BYTES_MAX);
    while page.lines.len() < most && left > 0 {
        let mut newest: Option<(u64, &mut Trail)> = None;
        for trail in trails.iter_mut() {
            let Some(at) = trail.peek(&mut left)? else { continue };
            if newest.as_ref().is_none_or(|(other, _)| at > *other) {
                newest = Some((at, trail));
            }
        }
        match newest {
            Some((_, trail)) => page.lines.extend(trail.take()),
            None if left > 0 => return Ok(page),
            None => break,
        }
    }
    let places: Vec<&str> = trails.iter().map(|trail| trail.place.as_str()).collect();
    page.next = Some(places.join(BETWEEN_PLACES));
    Ok(page)
}

/// Separator between the places in the files of the standings.
const BETWEEN_PLACES: &str = ",";
/// Place before which a log has no lines.
const NOWHERE: &str = "-";

/// Lines of one log and its rotated files, the newest first.
struct Trail {
    path: PathBuf,
    files: std::iter::Peekable<std::vec::IntoIter<(String, File)>>,
    /// Byte of the first file from which to read backwards; `None` for its end.
    end: Option<u64>,
    lines: Option<(String, Backwards)>,
    /// Place from which the next page continues: the line that was taken or skipped last.
    place: String,
    peeked: Option<(String, AuditLine)>,
    /// True if nothing is left before the place from which to continue: there were no lines, or their files are gone.
    is_at_end: bool,
}

impl Trail {
    fn of(path: &Path, before: Option<&str>, standing: Standing) -> Result<Self, AuditReadError> {
        let failed = |source| AuditReadError::File { path: path.display().to_string(), source };
        let files = match open(path) {
            // Logs of earlier versions have fewer files.
            Err(error) if standing != Standing::Member && error.kind() == io::ErrorKind::NotFound => Vec::new(),
            other => other.map_err(failed)?,
        };
        let mut files = files.into_iter().peekable();
        let (mut end, mut place) = (None, NOWHERE.to_owned());
        match before {
            None => {
                if let Some((mark, file)) = files.peek() {
                    let bytes = file.metadata().map_err(failed)?.len();
                    place = if bytes > 0 { format!("{mark}:{bytes}") } else { place };
                }
            }
            Some(NOWHERE) => files = Vec::new().into_iter().peekable(),
            Some(before) => {
                let (mark, offset) = place_of(before).ok_or(AuditReadError::BadCursor)?;
                while files.next_if(|(other, _)| other != mark).is_some() {}
                if files.peek().is_some() {
                    (end, place) = (Some(offset), before.to_owned());
                }
            }
        }
        let is_at_end = files.peek().is_none();
        Ok(Self { path: path.to_owned(), files, end, lines: None, place, peeked: None, is_at_end })
    }

    /// Returns the time of the next line, if there is one. Subtracts the bytes read from `left`.
    fn peek(&mut self, left: &mut usize) -> Result<Option<u64>, AuditReadError> {
        let failed = |source| AuditReadError::File { path: self.path.display().to_string(), source };
        while self.peeked.is_none() && *left > 0 {
            let Some((mark, lines)) = &mut self.lines else {
                let Some((mark, file)) = self.files.next() else { return Ok(None) };
                self.lines = Some((mark, Backwards::of(file, self.end.take()).map_err(failed)?));
                continue;
            };
            let Some((start, line)) = lines.next_line().map_err(failed)? else {
                self.lines = None;
                continue;
            };
            *left = left.saturating_sub(line.len());
            let place = format!("{mark}:{start}");
            match serde_json::from_slice::<AuditLine>(&line) {
                Ok(line) => self.peeked = Some((place, line)),
                // A line that is no audit entry was not written by this program.
                Err(_) => self.place = place,
            }
        }
        Ok(self.peeked.as_ref().map(|(_, line)| line.at_ms()))
    }

    fn take(&mut self) -> Option<AuditLine> {
        let (place, line) = self.peeked.take()?;
        self.place = place;
        Some(line)
    }
}

/// Opens the files of a log, the newest first, each with its mark.
fn open(path: &Path) -> io::Result<Vec<(String, File)>> {
    let name = |number: usize| match number {
        0 => path.to_owned(),
        number => PathBuf::from(format!("{}.{number}", path.display())),
    };
    let mut all: Vec<(String, File)> = Vec::new();
    let mut newest = None;
    for number in 0..=AUDIT_FILES_MAX {
        let mut file = match File::open(name(number)) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                newest.get_or_insert(error);
                continue;
            }
            Err(error) => return Err(error),
        };
        let mark = mark_of(&mut file)?;
        // The file may be renamed just now, and be met again.
        if all.iter().all(|(other, _)| *other != mark) {
            all.push((mark, file));
        }
    }
    match newest {
        Some(error) if all.is_empty() => Err(error),
        _ => Ok(all),
    }
}

fn mark_of(file: &mut File) -> io::Result<String> {
    let mut head = Vec::new();
    file.by_ref().take(MARK_BYTES as u64).read_to_end(&mut head)?;
    let line = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
    Ok(hex(digest(&SHA256, line).as_ref().get(..8).unwrap_or_default()))
}

fn place_of(text: &str) -> Option<(&str, u64)> {
    let (mark, offset) = text.split_once(':')?;
    Some((mark, offset.parse().ok()?))
}

/// Lines of a file, the last one first.
struct Backwards {
    file: File,
    /// Offset of `bytes`: read from the file, and not returned yet.
    begin: u64,
    bytes: Vec<u8>,
}

impl Backwards {
    /// Makes a reader of the lines before an offset, or of all.
    fn of(mut file: File, end: Option<u64>) -> io::Result<Self> {
        let bytes = file.seek(SeekFrom::End(0))?;
        Ok(Self { file, begin: end.unwrap_or(bytes).min(bytes), bytes: Vec::new() })
    }

    /// Returns the next line, and its offset.
    fn next_line(&mut self) -> io::Result<Option<(u64, Vec<u8>)>> {
        loop {
            let body = self.bytes.strip_suffix(b"\n").unwrap_or(&self.bytes);
            let before = body.iter().rposition(|byte| *byte == b'\n').map(|at| at + 1);
            if let Some(start) = before.or((self.begin == 0 && !self.bytes.is_empty()).then_some(0)) {
                let line = body.get(start..).unwrap_or_default().to_vec();
                self.bytes.truncate(start);
                return Ok(Some((self.begin + start as u64, line)));
            }
            if self.begin == 0 {
                return Ok(None);
            }
            self.read_before()?;
        }
    }

    fn read_before(&mut self) -> io::Result<()> {
        // No line is that long.
        if self.bytes.len() >= BLOCK_BYTES {
            self.bytes.clear();
        }
        let count = self.begin.min(BLOCK_BYTES as u64);
        self.begin -= count;
        self.file.seek(SeekFrom::Start(self.begin))?;
        let mut block = vec![0; count as usize];
        self.file.read_exact(&mut block)?;
        block.append(&mut self.bytes);
        self.bytes = block;
        Ok(())
    }
}

/// Reads a time that `audit::rfc3339` wrote, in milliseconds since 1970.
fn millis_of(text: &str) -> Option<u64> {
    let number = |from: usize, to: usize| text.get(from..to)?.parse::<u16>().ok();
    let small = |from: usize| u8::try_from(number(from, from + 2)?).ok();
    let month = Month::try_from(small(5)?).ok()?;
    let day = Date::from_calendar_date(i32::from(number(0, 4)?), month, small(8)?).ok()?;
    let at = day.with_hms_milli(small(11)?, small(14)?, small(17)?, number(20, 23)?).ok()?.assume_utc();
    u64::try_from(at.unix_timestamp_nanos() / 1_000_000).ok()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use time::OffsetDateTime;

    use super::*;
    use crate::audit::rfc3339;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("whimbrel-audit-pages-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    fn line(number: usize) -> String {
        format!("{{\"time\":\"2026-07-14T03:33:20.123Z\",\"reason\":\"forbidden\",\"who\":\"{number}\"}}\n")
    }

    fn lines(numbers: std::ops::Range<usize>) -> String {
        numbers.map(line).collect()
    }

    /// Reads all lines in pages of this size, and calls `meanwhile` after each page.
    fn all(path: &Path, most: usize, mut meanwhile: impl FnMut()) -> Vec<usize> {
        let (mut read, mut before) = (Vec::new(), None);
        loop {
            let page = read_back(path, before.as_deref(), most).unwrap();
            assert!(page.lines.len() <= most);
            read.extend(page.lines.iter().map(|line| line.who.parse::<usize>().unwrap()));
            before = page.next;
            if before.is_none() {
                return read;
            }
            meanwhile();
        }
    }

    #[test]
    fn log_is_read_across_files() {
        let folder = folder("files");
        let path = folder.join("audit.jsonl");
        assert!(matches!(read_back(&path, None, 5), Err(AuditReadError::File { .. })));
        fs::write(&path, "").unwrap();
        assert_eq!(read_back(&path, None, 5).unwrap(), AuditPage::default());
        fs::write(&path, lines(7..10)).unwrap();
        fs::write(folder.join("audit.jsonl.1"), lines(2..7)).unwrap();
        fs::write(folder.join("audit.jsonl.2"), format!("nonsense\n{}{}", lines(0..2), "x".repeat(200_000))).unwrap();
        let down: Vec<usize> = (0..10).rev().collect();
        for most in [1, 2, 3, 100] {
            assert_eq!(all(&path, most, || ()), down, "{most} at a time");
        }
        let first = read_back(&path, None, 1).unwrap();
        assert_eq!(first.lines.first().map(AuditLine::at_ms), Some(1_784_000_000_123));
        for bad in ["", "x", "x:1", ":0"] {
            assert!(matches!(read_back(&path, Some(bad), 1), Err(AuditReadError::BadCursor)), "{bad}");
        }
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn reading_survives_writing_and_rotation() {
        let folder = folder("rotated");
        let (path, aside) = (folder.join("audit.jsonl"), folder.join("audit.jsonl.1"));
        fs::write(&path, lines(0..9)).unwrap();
        let mut turns = 0;
        let read = all(&path, 2, || {
            turns += 1;
            if turns == 2 {
                fs::rename(&path, &aside).unwrap();
            }
            let before = fs::read_to_string(&path).unwrap_or_default();
            fs::write(&path, before + &line(100 + turns)).unwrap();
        });
        assert_eq!(read, [8, 7, 6, 5, 4, 3, 2, 1, 0]);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn missing_file_ends_no_reading() {
        let folder = folder("lost");
        let path = folder.join("audit.jsonl");
        let outside = file_of(&path, Standing::Outside);
        fs::write(&path, lines(0..3)).unwrap();
        fs::write(&outside, lines(10..13)).unwrap();
        let first = read_back(&path, None, 1).unwrap();
        let before = first.next.as_deref();
        fs::write(&outside, lines(20..23)).unwrap();
        let rest = read_back(&path, before, 9).unwrap();
        let rest: Vec<&str> = rest.lines.iter().map(|line| line.who.as_str()).collect();
        assert_eq!(rest, ["1", "0"], "2 was told, and the strangers' file of the first page is gone");
        fs::write(&path, lines(30..33)).unwrap();
        assert!(matches!(read_back(&path, before, 9), Err(AuditReadError::BadCursor)));
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn written_times_are_read() {
        for ms in (0..4_000_000_000_000_u64).step_by(39_916_801_001) {
            let at = OffsetDateTime::from_unix_timestamp_nanos(i128::from(ms) * 1_000_000).unwrap();
            assert_eq!(millis_of(&rfc3339(at)), Some(ms));
        }
        for text in [
            "",
            "now",
            "2026-13-01T00:00:00.000Z",
            "2026-02-30T00:00:00.000Z",
            "1969-12-31T23:59:59.999Z",
            "äöüäöüäöüäöüäöü",
        ] {
            assert_eq!(millis_of(text), None, "{text}");
        }
    }
}
