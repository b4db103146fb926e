//! Evidence: every signed message that left a node or came to it, kept in a folder, each conversation a chain of digests.
//!
//! Files of lines of JSON, only ever appended to; a new one is begun after [`EVIDENCE_FILE_BYTES_MAX`], and of
//! [`EVIDENCE_FILES_MAX`] the oldest is deleted. Evidence that is not kept is none: whoever records waits if the disk is slower than
//! the messages are.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use rustc_hash::{FxHashMap, FxHashSet};
use rustls::pki_types::CertificateDer;
use serde::{Deserialize, Serialize};
use whimbrel_acl::Text;
use whimbrel_platform::limits::{EVIDENCE_FILE_BYTES_MAX, EVIDENCE_FILES_MAX, EVIDENCE_QUEUE_MAX};

use super::bundle::Bundle;
use super::{Claims, Digest, NOTHING, Signature, sha256};
use crate::authority::file::private;
use crate::authority::{hex, unhex};

/// What entries' digests begin with.
const DOMAIN: &[u8] = b"whimbrel-evidence-1\0";
/// Whether a message left the node that keeps the evidence, or came to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// It left.
    Sent,
    /// It came, and was verified.
    Received,
}

/// A message to be recorded.
pub(crate) struct Record {
    pub direction: Direction,
    pub conversation: Text,
    pub signature: Signature,
    /// The message without its signature.
    pub document: Vec<u8>,
    pub agent: CertificateDer<'static>,
    pub node: CertificateDer<'static>,
}

/// One message in its conversation's chain. Digests are hexadecimal digits, bytes are base64.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Entry {
    pub conversation: String,
    /// From 1.
    pub entry: u64,
    /// The digest of the entry before; zeros for the first.
    pub chain: String,
    pub direction: Direction,
    pub certificate: String,
    pub run: u64,
    pub sequence: u64,
    pub time_ms: u64,
    pub previous: String,
    pub seen: String,
    pub message: String,
    pub signature: String,
}

/// An agent's certificate, and that of its node for certifying agents, as base64 of DER.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Chain {
    pub agent: String,
    pub node: String,
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Line {
    Entry(Box<Entry>),
    Certificate { certificate: String, issued: Chain },
}

/// Why evidence cannot be kept or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EvidenceError {
    /// A file cannot be read or written.
    #[error("cannot use {path}")]
    File {
        /// Which.
        path: String,
        /// Why not.
        source: io::Error,
    },
    /// Another process keeps its evidence there: its chains would be torn.
    #[error("another process keeps its evidence in {0}")]
    InUse(String),
    /// A file holds something else.
    #[error("{path}:{line}: this is no evidence: {why}")]
    NoEvidence {
        /// Which.
        path: String,
        /// Where, from 1.
        line: usize,
        /// What is wrong.
        why: String,
    },
    /// Nothing is known of a conversation.
    #[error("there is no evidence of the conversation {0}")]
    NoConversation(String),
}

fn failed(path: &Path) -> impl Fn(io::Error) -> EvidenceError {
    let path = path.display().to_string();
    move |source| EvidenceError::File { path: path.clone(), source }
}

impl Entry {
    /// What the next entry of the conversation builds upon.
    pub fn digest(&self) -> Digest {
        let mut bytes = DOMAIN.to_vec();
        for text in [
            &self.conversation,
            &self.chain,
            &self.certificate,
            &self.previous,
            &self.seen,
            &self.message,
            &self.signature,
        ] {
            bytes.extend_from_slice(&(text.len() as u64).to_le_bytes());
            bytes.extend_from_slice(text.as_bytes());
        }
        for number in [self.entry, self.run, self.sequence, self.time_ms, self.direction as u64] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        sha256(&bytes)
    }

    /// What was said about the message, and the signature of that; `None` if it is not written as it should be.
    pub fn signature(&self) -> Option<Signature> {
        // In one form only: whatever is written otherwise was changed.
        let digest = |text: &str| unhex(text)?.try_into().ok().filter(|digest: &Digest| hex(digest) == text);
        let claims = Claims {
            certificate: digest(&self.certificate)?,
            run: self.run,
            sequence: self.sequence,
            time_ms: self.time_ms,
            previous: digest(&self.previous)?,
            seen: digest(&self.seen)?,
        };
        Some(Signature { claims, signature: BASE64.decode(&self.signature).ok()?.try_into().ok()? })
    }

    /// The message's bytes.
    pub fn document(&self) -> Option<Vec<u8>> {
        BASE64.decode(&self.message).ok()
    }
}

impl Chain {
    pub fn certificates(&self) -> Option<[CertificateDer<'static>; 2]> {
        let one = |text: &str| BASE64.decode(text).ok().map(CertificateDer::from);
        Some([one(&self.agent)?, one(&self.node)?])
    }
}

/// See the module. What was recorded is written before it is dropped.
pub struct Evidence {
    records: Option<SyncSender<Record>>,
    /// Recorded and not in a file yet.
    pending: Arc<AtomicUsize>,
    writer: Option<JoinHandle<()>>,
    /// Locked for as long as this lives.
    _lock: File,
}

impl Evidence {
    /// Evidence in this folder, which is made if it is not there; chains go on where they ended.
    ///
    /// # Errors
    /// The folder cannot be read or written, or holds something else.
    pub fn open(folder: &Path, log: Box<dyn Fn(&str) + Send>) -> Result<Self, EvidenceError> {
        Self::bounded(folder, EVIDENCE_FILE_BYTES_MAX, log)
    }

    fn bounded(folder: &Path, bytes_max: u64, log: Box<dyn Fn(&str) + Send>) -> Result<Self, EvidenceError> {
        fs::create_dir_all(folder).map_err(failed(folder))?;
        let path = folder.join("lock");
        let lock = private(OpenOptions::new().append(true).create(true)).open(&path).map_err(failed(&path))?;
        lock.try_lock().map_err(|_| EvidenceError::InUse(folder.display().to_string()))?;
        let mut ends = FxHashMap::default();
        read_all(folder, |line| {
            if let Line::Entry(entry) = line {
                ends.insert(entry.conversation.clone(), (entry.entry, entry.digest()));
            }
        })?;
        let files = Files::open(folder, bytes_max)?;
        let (records, due) = sync_channel(EVIDENCE_QUEUE_MAX);
        let pending = Arc::<AtomicUsize>::default();
        let waiting = Arc::clone(&pending);
        let writer = std::thread::Builder::new()
            .name("whimbrel-evidence".to_owned())
            .spawn(move || write_all(Chains { ends, files }, &due, &waiting, &*log))
            .map_err(failed(folder))?;
        Ok(Self { records: Some(records), pending, writer: Some(writer), _lock: lock })
    }

    pub(crate) fn record(&self, record: Record) {
        if let Some(records) = &self.records {
            self.pending.fetch_add(1, Ordering::Relaxed);
            let _ = records.send(record);
        }
    }

    /// Waits until all that was recorded is in its file, this long at most.
    pub fn settle(&self, at_most: Duration) {
        let until = Instant::now() + at_most;
        while self.pending.load(Ordering::Acquire) > 0 && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Drop for Evidence {
    fn drop(&mut self) {
        drop(self.records.take());
        if let Some(writer) = self.writer.take() {
            let _ = writer.join();
        }
    }
}

fn write_all(mut chains: Chains, due: &Receiver<Record>, pending: &AtomicUsize, log: &dyn Fn(&str)) {
    let (mut told, mut written) = (false, 0);
    let mut tell = |outcome: io::Result<()>| {
        if let Err(error) = outcome
            && !std::mem::replace(&mut told, true)
        {
            log(&format!("evidence is being lost: {error}"));
        }
    };
    loop {
        let record = match due.try_recv() {
            Ok(record) => record,
            Err(_) => {
                // Nothing waits: what was written should not, either.
                tell(chains.files.file.flush());
                pending.fetch_sub(std::mem::take(&mut written), Ordering::Release);
                match due.recv() {
                    Ok(record) => record,
                    Err(_) => return,
                }
            }
        };
        tell(chains.write(&record));
        written += 1;
    }
}

/// Where each conversation's chain ends.
struct Chains {
    ends: FxHashMap<String, (u64, Digest)>,
    files: Files,
}

impl Chains {
    fn write(&mut self, record: &Record) -> io::Result<()> {
        let Record { direction, conversation, signature, document, agent, node } = record;
        let Signature { claims, signature } = signature;
        let (number, chain) = self.ends.get(conversation.as_str()).copied().unwrap_or((0, NOTHING));
        let entry = Entry {
            conversation: conversation.to_string(),
            entry: number + 1,
            chain: hex(&chain),
            direction: *direction,
            certificate: hex(&claims.certificate),
            run: claims.run,
            sequence: claims.sequence,
            time_ms: claims.time_ms,
            previous: hex(&claims.previous),
            seen: hex(&claims.seen),
            message: BASE64.encode(document),
            signature: BASE64.encode(signature),
        };
        self.files.make_room()?;
        if self.files.certificates.insert(claims.certificate) {
            let issued = Chain { agent: BASE64.encode(agent), node: BASE64.encode(node) };
            self.files.write(&Line::Certificate { certificate: entry.certificate.clone(), issued })?;
        }
        self.ends.insert(entry.conversation.clone(), (entry.entry, entry.digest()));
        self.files.write(&Line::Entry(Box::new(entry)))
    }
}

/// The file that is written, and those before it.
struct Files {
    folder: PathBuf,
    number: u64,
    file: BufWriter<File>,
    bytes: u64,
    bytes_max: u64,
    /// Those in this file: each file is of use by itself.
    certificates: FxHashSet<Digest>,
}

/// The files of a folder, the oldest first.
fn files_in(folder: &Path) -> io::Result<Vec<(u64, PathBuf)>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let number = name.strip_prefix("evidence-").and_then(|name| name.strip_suffix(".jsonl"));
        if let Some(number) = number.and_then(|number| number.parse().ok()) {
            files.push((number, path));
        }
    }
    files.sort_unstable();
    Ok(files)
}

impl Files {
    fn open(folder: &Path, bytes_max: u64) -> Result<Self, EvidenceError> {
        let present = files_in(folder).map_err(failed(folder))?;
        let number = present.last().map_or(0, |(number, _)| *number) + 1;
        Self::begin(folder, number, bytes_max).map_err(failed(folder))
    }

    fn begin(folder: &Path, number: u64, bytes_max: u64) -> io::Result<Self> {
        let path = folder.join(format!("evidence-{number:06}.jsonl"));
        let mut options = OpenOptions::new();
        options.append(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let (file, certificates) = (BufWriter::new(options.open(path)?), FxHashSet::default());
        Ok(Self { folder: folder.to_owned(), number, file, bytes: 0, bytes_max, certificates })
    }

    fn make_room(&mut self) -> io::Result<()> {
        if self.bytes < self.bytes_max {
            return Ok(());
        }
        self.file.flush()?;
        *self = Self::begin(&self.folder, self.number + 1, self.bytes_max)?;
        let present = files_in(&self.folder)?;
        for (_, path) in present.iter().take(present.len().saturating_sub(EVIDENCE_FILES_MAX)) {
            fs::remove_file(path)?;
        }
        Ok(())
    }

    fn write(&mut self, line: &Line) -> io::Result<()> {
        let mut text = serde_json::to_vec(line)?;
        text.push(b'\n');
        self.file.write_all(&text)?;
        self.bytes += text.len() as u64;
        Ok(())
    }
}

/// Reads all evidence of a folder, in order. A last line without an end is one that was being written.
fn read_all(folder: &Path, mut take: impl FnMut(Line)) -> Result<(), EvidenceError> {
    for (_, path) in files_in(folder).map_err(failed(folder))? {
        let mut reader = BufReader::new(File::open(&path).map_err(failed(&path))?);
        let (mut text, mut number) = (Vec::new(), 0);
        loop {
            text.clear();
            number += 1;
            let count = reader.read_until(b'\n', &mut text).map_err(failed(&path))?;
            if count == 0 || text.pop() != Some(b'\n') {
                break;
            }
            let line = serde_json::from_slice(&text).map_err(|error| EvidenceError::NoEvidence {
                path: path.display().to_string(),
                line: number,
                why: error.to_string(),
            })?;
            take(line);
        }
    }
    Ok(())
}

/// All that a folder of evidence has of a conversation, for others to verify.
///
/// # Errors
/// The folder cannot be read or holds something else, or knows nothing of the conversation.
pub fn prove(folder: &Path, conversation: &str) -> Result<Bundle, EvidenceError> {
    let (mut entries, mut all) = (Vec::new(), BTreeMap::new());
    read_all(folder, |line| match line {
        Line::Entry(entry) if entry.conversation == conversation => entries.push(*entry),
        Line::Entry(_) => {}
        Line::Certificate { certificate, issued } => drop(all.insert(certificate, issued)),
    })?;
    if entries.is_empty() {
        return Err(EvidenceError::NoConversation(conversation.to_owned()));
    }
    let used: FxHashSet<&String> = entries.iter().map(|entry| &entry.certificate).collect();
    let certificates = all.into_iter().filter(|(digest, _)| used.contains(digest)).collect();
    Ok(Bundle::new(conversation, entries, certificates))
}

#[cfg(test)]
mod tests {
    use whimbrel_acl::{AclMessage, Aid, Performative};

    use super::*;
    use crate::Authority;
    use crate::signing::certificates::AgentAuthority;
    use crate::signing::signer::Signer;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("whimbrel-kept-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        folder
    }

    fn open(folder: &Path, bytes_max: u64) -> std::sync::Arc<Evidence> {
        std::sync::Arc::new(Evidence::bounded(folder, bytes_max, Box::new(|line| panic!("{line}"))).unwrap())
    }

    /// Signs this many messages of amy to bob.
    fn sign(authority: &mut Authority, evidence: &std::sync::Arc<Evidence>, count: u64) {
        let credentials = authority.issue("n1", &[], 1).unwrap();
        assert!(AgentAuthority::new("p", "n1", &credentials).is_ok());
        let signer = Signer::new(
            ("p", "n1"),
            u64::from_le_bytes(crate::authority::random().unwrap()),
            &credentials,
            Some(std::sync::Arc::clone(evidence)),
        )
        .unwrap();
        for _ in 0..count {
            let message = AclMessage::new(Performative::Inform, Aid::local("amy"), Aid::local("bob"), "hello");
            let body = whimbrel_acl::MessageBody::Owned(Box::new(message));
            let mut batch = vec![whimbrel_acl::Envelope { to: Aid::local("bob"), body }];
            assert!(signer.sign(&mut batch, |_| ()).is_empty());
        }
        evidence.settle(Duration::from_secs(10));
    }

    #[test]
    fn chains_go_on_after_a_restart() {
        let (folder, mut authority) = (folder("restart"), Authority::create("p").unwrap());
        for round in 1..=3 {
            let evidence = open(&folder, EVIDENCE_FILE_BYTES_MAX);
            sign(&mut authority, &evidence, 2);
            let bundle = prove(&folder, "amy~bob").unwrap();
            assert_eq!(bundle.len(), 2 * round);
            let second = Evidence::open(&folder, Box::new(|_| ()));
            assert!(matches!(second, Err(EvidenceError::InUse(_))), "one process at a time");
        }
        // Each process has keys of its own, so that its numbers begin anew: that is no contradiction.
        let trust = authority.trust().unwrap();
        let verified = prove(&folder, "amy~bob").unwrap().verify(&trust).unwrap();
        let numbers: Vec<(u64, u64)> = verified.said.iter().map(|said| (said.entry, said.sequence)).collect();
        assert_eq!(numbers, [(1, 1), (2, 2), (3, 1), (4, 2), (5, 1), (6, 2)]);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn old_files_go_and_what_is_left_can_be_proven() {
        let (folder, mut authority) = (folder("bounded"), Authority::create("p").unwrap());
        let evidence = open(&folder, 4_000);
        sign(&mut authority, &evidence, 500);
        assert_eq!(files_in(&folder).unwrap().len(), EVIDENCE_FILES_MAX);
        let verified = prove(&folder, "amy~bob").unwrap().verify(&authority.trust().unwrap()).unwrap();
        let entries: Vec<u64> = verified.said.iter().map(|said| said.entry).collect();
        assert!(entries.len() < 500 && entries.last() == Some(&500), "{entries:?}");
        assert_eq!(verified.missing, [format!("messages 1 to {} of amy", entries[0] - 1)]);
        fs::remove_dir_all(folder).unwrap();
    }

    /// Whichever byte of a bundle somebody changes, it proves nothing any more, and nothing breaks.
    #[test]
    fn no_byte_of_a_bundle_can_be_changed() {
        /// Every so many bytes one is tried: all of them would take a minute.
        const STEP: usize = 17;
        let (folder, mut authority) = (folder("bytes"), Authority::create("p").unwrap());
        let evidence = open(&folder, EVIDENCE_FILE_BYTES_MAX);
        sign(&mut authority, &evidence, 2);
        let (trust, json) = (authority.trust().unwrap(), prove(&folder, "amy~bob").unwrap().to_json());
        assert!(Bundle::from_json(&json).and_then(|bundle| bundle.verify(&trust)).is_ok());
        for at in (0..json.trim_end().len()).step_by(STEP) {
            for flip in [0x01, 0x20] {
                let mut bytes = json.clone().into_bytes();
                bytes[at] ^= flip;
                let Ok(text) = String::from_utf8(bytes) else { continue };
                let outcome = Bundle::from_json(&text).and_then(|bundle| bundle.verify(&trust));
                assert!(outcome.is_err(), "byte {at}: {:?}", text.get(at.saturating_sub(20)..at + 20));
            }
        }
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn what_is_no_evidence_is_told() {
        let folder = folder("none");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("evidence-000001.jsonl"), "nonsense\n").unwrap();
        let error = prove(&folder, "c").unwrap_err().to_string();
        assert!(error.contains("evidence-000001.jsonl:1: this is no evidence"), "{error}");
        // A line that was being written when the process ended.
        fs::write(folder.join("evidence-000001.jsonl"), "{\"conv").unwrap();
        assert_eq!(prove(&folder, "c").unwrap_err().to_string(), "there is no evidence of the conversation c");
        fs::remove_dir_all(folder).unwrap();
    }
}
