//! Evidence: every signed message that left a node or arrived, kept in a folder. Each conversation is a chain of
//! digests.
//!
//! The files are lines of JSON, and are only ever appended to. After [`EVIDENCE_FILE_BYTES_MAX`] a new file begins; of
//! more than [`EVIDENCE_FILES_MAX`] files, the oldest is deleted. Recording waits if the disk is slower than the
//! messages are. A message that the disk does not take (it is full) is lost, and agents continue: the next entry of the
//! conversation says how many messages are missing.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use rustc_hash::FxHashSet;
use rustls::pki_types::CertificateDer;
use serde::{Deserialize, Serialize};
use whimbrel_acl::Text;
use whimbrel_platform::limits::{
    EVIDENCE_FILE_BYTES_MAX, EVIDENCE_FILES_MAX, EVIDENCE_WRITE_BYTES, SIGNED_CONVERSATIONS_MAX,
};

use super::bundle::EvidenceBundle;
use super::queue::RecordQueue;
use super::recent::RecentMap;
use super::{Digest, Signature, SignatureClaims, sha256};
use crate::authority::{hex, unhex};

/// Prefix of the hashed bytes of entries.
const DOMAIN: &[u8] = b"whimbrel-evidence-1\0";

/// Direction of a message at the node that keeps the evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// The message left.
    Sent,
    /// The message arrived, and was verified.
    Received,
}

/// Message to record.
pub(crate) struct EvidenceRecord {
    pub direction: Direction,
    pub conversation: Text,
    pub signature: Signature,
    /// Message without its signature.
    pub document: Vec<u8>,
    pub agent: CertificateDer<'static>,
    pub node: CertificateDer<'static>,
}

impl EvidenceRecord {
    /// Returns the approximate memory of the record.
    pub fn bytes(&self) -> usize {
        size_of::<Self>() + self.conversation.len() + self.document.len() + self.agent.len() + self.node.len()
    }
}

/// Entry of a conversation's chain. Digests are hexadecimal digits, bytes are base64.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EvidenceEntry {
    pub conversation: String,
    /// Number of the entry, from 1.
    pub entry: u64,
    /// Digest of the entry before; zeros for the first.
    pub chain: String,
    /// Number of messages before this one that could not be kept.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub lost: u64,
    /// True if the node had forgotten the end of the conversation: there may be entries before this first one.
    #[serde(default, skip_serializing_if = "is_no")]
    pub anew: bool,
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

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_nothing(count: &u64) -> bool {
    *count == 0
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_no(yes: &bool) -> bool {
    !yes
}

/// Certificate of an agent, and that of its node for certifying agents, as base64 of DER.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Chain {
    pub agent: String,
    pub node: String,
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum EvidenceLine {
    Entry(Box<EvidenceEntry>),
    Certificate { certificate: String, issued: Chain },
}

/// Error of keeping or reading evidence.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EvidenceError {
    /// A file cannot be read or written.
    #[error("cannot read or write evidence in {path}")]
    File {
        /// Path of the file.
        path: String,
        /// The cause.
        source: io::Error,
    },
    /// Another process keeps its evidence in the folder: its chains would be torn.
    #[error("another process keeps its evidence in {0}")]
    InUse(String),
    /// A file is malformed.
    #[error("{path}:{line}: not evidence: {why}")]
    NoEvidence {
        /// Path of the file.
        path: String,
        /// Number of the line, from 1.
        line: usize,
        /// Fault of the line.
        why: String,
    },
    /// The conversation has no evidence.
    #[error("no evidence of conversation {0}")]
    NoConversation(String),
}

fn failed(path: &Path) -> impl Fn(io::Error) -> EvidenceError {
    let path = path.display().to_string();
    move |source| EvidenceError::File { path: path.clone(), source }
}

impl EvidenceEntry {
    /// Returns the digest that the next entry of the conversation builds upon.
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
        if self.lost > 0 || self.anew {
            bytes.extend_from_slice(&self.lost.to_le_bytes());
            bytes.push(u8::from(self.anew));
        }
        sha256(&bytes)
    }

    /// Returns the signature and the claims that it signs; `None` if they are not in canonical form.
    pub fn signature(&self) -> Option<Signature> {
        // In one form only: another form was changed by somebody.
        let digest = |text: &str| unhex(text)?.try_into().ok().filter(|digest: &Digest| hex(digest) == text);
        let claims = SignatureClaims {
            certificate: digest(&self.certificate)?,
            run: self.run,
            sequence: self.sequence,
            time_ms: self.time_ms,
            previous: digest(&self.previous)?,
            seen: digest(&self.seen)?,
        };
        Some(Signature { claims, signature: BASE64.decode(&self.signature).ok()?.try_into().ok()? })
    }

    /// Returns the message's bytes.
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

/// Evidence of a node. Dropping it writes all records.
pub struct Evidence {
    queue: Arc<RecordQueue>,
    writer: Option<JoinHandle<()>>,
    /// Lock of the folder, held for as long as this lives.
    _lock: File,
}

impl Evidence {
    /// Opens evidence in this folder, which is created if it is missing. Chains continue where they ended.
    ///
    /// # Errors
    /// The folder cannot be read or written, or holds other files.
    pub fn open(folder: &Path, log: Box<dyn Fn(&str) + Send>) -> Result<Self, EvidenceError> {
        Self::bounded(folder, EVIDENCE_FILE_BYTES_MAX, log)
    }

    fn bounded(folder: &Path, bytes_max: u64, log: Box<dyn Fn(&str) + Send>) -> Result<Self, EvidenceError> {
        whimbrel_files::create_folder(folder).map_err(failed(folder))?;
        let path = folder.join("lock");
        // Windows locks no file that is only appended to.
        let lock = whimbrel_files::open_or_create(&path).map_err(failed(&path))?;
        lock.try_lock().map_err(|_| EvidenceError::InUse(folder.display().to_string()))?;
        let mut chains = Chains::open(folder, bytes_max)?;
        let queue = Arc::<RecordQueue>::default();
        let due = Arc::clone(&queue);
        let writer = std::thread::Builder::new()
            .name("whimbrel-evidence".to_owned())
            .spawn(move || run(&mut chains, &due, &*log))
            .map_err(failed(folder))?;
        Ok(Self { queue, writer: Some(writer), _lock: lock })
    }

    pub(crate) fn record(&self, record: EvidenceRecord) {
        self.queue.put(record);
    }

    /// Returns the number of messages that could not be kept so far.
    pub fn lost(&self) -> u64 {
        self.queue.lost()
    }

    /// Waits until all records are in their files, at most for this time.
    pub fn settle(&self, at_most: Duration) {
        self.queue.settle(at_most);
    }
}

impl Drop for Evidence {
    fn drop(&mut self) {
        self.queue.close();
        if let Some(writer) = self.writer.take() {
            let _ = writer.join();
        }
    }
}

/// Writes records until the queue closes.
fn run(chains: &mut Chains, due: &RecordQueue, log: &dyn Fn(&str)) {
    let mut is_well = true;
    while let Some(records) = due.take() {
        let (outcome, lost) = chains.write(&records);
        due.written(lost);
        let was_well = std::mem::replace(&mut is_well, outcome.is_ok());
        match outcome {
            Err(error) if was_well => log(&format!("evidence is being lost: {error}")),
            Ok(()) if !was_well => log(&format!("evidence is kept again: {} messages were lost", due.lost())),
            _ => {}
        }
    }
}

/// End of a conversation's chain.
#[derive(Clone, Copy, Default)]
struct ChainEnd {
    entry: u64,
    digest: Digest,
    /// Number of messages since then that could not be kept.
    lost: u64,
    /// True if there may be entries before the first.
    anew: bool,
}

/// Ends of all chains, and the files for their entries.
struct Chains {
    /// Ends of chains, by the digests of conversations' names.
    ends: RecentMap<Digest, ChainEnd>,
    /// True once ends were forgotten.
    forgot: bool,
    files: EvidenceFiles,
}

/// Entries that are written together: all of them, or none.
#[derive(Default)]
struct EntryBatch {
    bytes: Vec<u8>,
    /// Conversations of the entries, and the ends of their chains before.
    before: Vec<(Digest, ChainEnd)>,
}

impl Chains {
    fn open(folder: &Path, bytes_max: u64) -> Result<Self, EvidenceError> {
        let (mut ends, mut forgot) = (RecentMap::new(SIGNED_CONVERSATIONS_MAX), false);
        read_all(folder, |line| {
            if let EvidenceLine::Entry(entry) = line {
                let end = ChainEnd { entry: entry.entry, digest: entry.digest(), ..ChainEnd::default() };
                forgot |= ends.insert(sha256(entry.conversation.as_bytes()), end);
            }
        })?;
        Ok(Self { ends, forgot, files: EvidenceFiles::open(folder, bytes_max)? })
    }

    /// Writes what it can. Returns the last error, and the number of lost messages.
    fn write(&mut self, records: &[EvidenceRecord]) -> (io::Result<()>, u64) {
        let (mut outcome, mut lost, mut piece) = (Ok(()), 0, EntryBatch::default());
        let mut records = records.iter().peekable();
        while let Some(record) = records.next() {
            if piece.bytes.is_empty() {
                // If no other file can be opened, this one becomes longer.
                let _ = self.files.make_room();
            }
            self.append(record, &mut piece);
            if piece.bytes.len() < self.files.piece_bytes() && records.peek().is_some() {
                continue;
            }
            if let Err(error) = self.files.write(&piece.bytes) {
                lost += self.take_back(&piece);
                outcome = Err(error);
            }
            piece = EntryBatch::default();
        }
        (outcome, lost)
    }

    /// Appends a message to a piece, with its certificate if this file does not have it.
    fn append(&mut self, record: &EvidenceRecord, piece: &mut EntryBatch) {
        let EvidenceRecord { direction, conversation, signature, document, agent, node } = record;
        let Signature { claims, signature } = signature;
        let place = sha256(conversation.as_bytes());
        let nothing = ChainEnd { anew: self.forgot, ..ChainEnd::default() };
        let before = self.ends.get(&place).copied().unwrap_or(nothing);
        let entry = EvidenceEntry {
            conversation: conversation.to_string(),
            entry: before.entry + 1,
            chain: hex(&before.digest),
            lost: before.lost,
            anew: before.anew,
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
        if self.files.certificates.insert(claims.certificate) {
            let issued = Chain { agent: BASE64.encode(agent), node: BASE64.encode(node) };
            write_line(&EvidenceLine::Certificate { certificate: entry.certificate.clone(), issued }, &mut piece.bytes);
        }
        let end = ChainEnd { entry: entry.entry, digest: entry.digest(), ..ChainEnd::default() };
        self.forgot |= self.ends.insert(place, end);
        piece.before.push((place, before));
        write_line(&EvidenceLine::Entry(Box::new(entry)), &mut piece.bytes);
    }

    /// Takes back entries that were not written. Their conversations continue where they were, and record the loss.
    /// Returns the number of entries.
    fn take_back(&mut self, piece: &EntryBatch) -> u64 {
        for (place, before) in piece.before.iter().rev() {
            self.ends.insert(*place, *before);
        }
        for (place, _) in &piece.before {
            let mut end = self.ends.get(place).copied().unwrap_or_default();
            end.lost += 1;
            self.ends.insert(*place, end);
        }
        self.files.certificates.clear();
        piece.before.len() as u64
    }
}

fn write_line(line: &EvidenceLine, out: &mut Vec<u8>) {
    // Texts and numbers can always be encoded.
    out.extend(serde_json::to_vec(line).unwrap_or_default());
    out.push(b'\n');
}

/// Current file of the evidence, and its predecessors.
struct EvidenceFiles {
    folder: PathBuf,
    number: u64,
    file: File,
    /// Number of valid bytes in the file.
    bytes: u64,
    bytes_max: u64,
    /// True if invalid bytes may follow them: a part of entries that could not be written.
    is_torn: bool,
    /// Certificates in this file: each file is complete by itself.
    certificates: FxHashSet<Digest>,
}

/// Returns the files of a folder, the oldest first.
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

impl EvidenceFiles {
    fn open(folder: &Path, bytes_max: u64) -> Result<Self, EvidenceError> {
        let present = files_in(folder).map_err(failed(folder))?;
        let number = present.last().map_or(0, |(number, _)| *number) + 1;
        Self::begin(folder, number, bytes_max).map_err(failed(folder))
    }

    fn begin(folder: &Path, number: u64, bytes_max: u64) -> io::Result<Self> {
        let path = folder.join(format!("evidence-{number:06}.jsonl"));
        let file = whimbrel_files::append_new(&path)?;
        let (folder, certificates) = (folder.to_owned(), FxHashSet::default());
        Ok(Self { folder, number, file, bytes: 0, bytes_max, is_torn: false, certificates })
    }

    /// Returns the maximal number of bytes written at once.
    fn piece_bytes(&self) -> usize {
        EVIDENCE_WRITE_BYTES.min(self.bytes_max as usize)
    }

    /// Begins another file if this one is full.
    fn make_room(&mut self) -> io::Result<()> {
        if self.bytes < self.bytes_max {
            return Ok(());
        }
        *self = Self::begin(&self.folder, self.number + 1, self.bytes_max)?;
        let present = files_in(&self.folder)?;
        for (_, path) in present.iter().take(present.len().saturating_sub(EVIDENCE_FILES_MAX)) {
            // A file that cannot be deleted now is tried again with the next.
            let _ = fs::remove_file(path);
        }
        Ok(())
    }

    /// Writes whole lines: all of them, or none.
    fn write(&mut self, lines: &[u8]) -> io::Result<()> {
        if self.is_torn {
            self.file.set_len(self.bytes)?;
            self.is_torn = false;
        }
        self.file.write_all(lines).inspect_err(|_| self.is_torn = self.file.set_len(self.bytes).is_err())?;
        self.bytes += lines.len() as u64;
        Ok(())
    }
}

/// Reads all evidence of a folder, in order. A last line without an end was being written.
fn read_all(folder: &Path, mut take: impl FnMut(EvidenceLine)) -> Result<(), EvidenceError> {
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

/// Returns the evidence of a conversation in a folder as a bundle, for others to verify. A conversation without a name
/// is that of two agents, in either order (`amy~bob`).
///
/// # Errors
/// The folder cannot be read, is malformed, or has no evidence of the conversation.
pub fn prove(folder: &Path, conversation: &str) -> Result<EvidenceBundle, EvidenceError> {
    match (prove_named(folder, conversation), conversation.split_once('~')) {
        (Err(EvidenceError::NoConversation(name)), Some((one, other))) => {
            prove_named(folder, &format!("{other}~{one}")).map_err(|error| match error {
                EvidenceError::NoConversation(_) => EvidenceError::NoConversation(name),
                error => error,
            })
        }
        (proved, _) => proved,
    }
}

fn prove_named(folder: &Path, conversation: &str) -> Result<EvidenceBundle, EvidenceError> {
    let (mut entries, mut all) = (Vec::new(), BTreeMap::new());
    read_all(folder, |line| match line {
        EvidenceLine::Entry(entry) if entry.conversation == conversation => entries.push(*entry),
        EvidenceLine::Entry(_) => {}
        EvidenceLine::Certificate { certificate, issued } => drop(all.insert(certificate, issued)),
    })?;
    if entries.is_empty() {
        return Err(EvidenceError::NoConversation(conversation.to_owned()));
    }
    let used: FxHashSet<&String> = entries.iter().map(|entry| &entry.certificate).collect();
    let certificates = all.into_iter().filter(|(digest, _)| used.contains(digest)).collect();
    Ok(EvidenceBundle::new(conversation, entries, certificates))
}

#[cfg(test)]
mod tests {
    use whimbrel_acl::{AclMessage, Aid, Performative};

    use super::*;
    use crate::Authority;
    use crate::signing::NOTHING;
    use crate::signing::certificates::AgentAuthority;
    use crate::signing::signer::MessageSigner;

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
        let signer = MessageSigner::new(
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
            let signed = signer.sign(&mut batch, |_| ());
            assert!(signed.unsigned.is_empty());
            signer.record(&signed, 1);
        }
        evidence.settle(Duration::from_secs(10));
    }

    #[test]
    fn chains_continue_after_restart() {
        let (folder, mut authority) = (folder("restart"), Authority::create("p").unwrap());
        for round in 1..=3 {
            let evidence = open(&folder, EVIDENCE_FILE_BYTES_MAX);
            sign(&mut authority, &evidence, 2);
            let bundle = prove(&folder, "bob~amy").unwrap();
            assert_eq!(bundle.len(), 2 * round);
            let second = Evidence::open(&folder, Box::new(|_| ()));
            assert!(matches!(second, Err(EvidenceError::InUse(_))), "one process at a time");
        }
        // Each process has keys of its own, so its numbers begin anew: that is no contradiction.
        let trust = authority.trust().unwrap();
        let verified = prove(&folder, "amy~bob").unwrap().verify(&trust).unwrap();
        let numbers: Vec<(u64, u64)> = verified.said.iter().map(|said| (said.entry, said.sequence)).collect();
        assert_eq!(numbers, [(1, 1), (2, 2), (3, 1), (4, 2), (5, 1), (6, 2)]);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn remaining_files_prove_after_deletion() {
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

    /// Records of messages of amy to bob.
    fn records(authority: &mut Authority, count: usize) -> Vec<EvidenceRecord> {
        let credentials = authority.issue("n1", &[], 1).unwrap();
        let node = AgentAuthority::new("p", "n1", &credentials).unwrap();
        let identity = node.identify("amy".into(), 0).unwrap();
        let mut previous = NOTHING;
        let record = |index| {
            let message = AclMessage::new(Performative::Inform, Aid::local("amy"), Aid::local("bob"), "hello");
            let document = crate::signing::document_of(&message).unwrap();
            let time_ms = crate::signing::now_ms();
            let (certificate, sequence, seen) = (identity.digest, index as u64 + 1, NOTHING);
            let claims = SignatureClaims { certificate, run: 1, sequence, time_ms, previous, seen };
            let signed = claims.signed_bytes("p", &document);
            previous = sha256(&signed);
            let signature = identity.key.sign(&signed).as_ref().try_into().unwrap();
            EvidenceRecord {
                direction: Direction::Sent,
                conversation: "amy~bob".into(),
                signature: Signature { claims, signature },
                document,
                agent: identity.certificate.clone(),
                node: node.certificate().clone(),
            }
        };
        (0..count).map(record).collect()
    }

    #[test]
    fn full_disk_loses_only_its_messages() {
        let (folder, mut authority) = (folder("full"), Authority::create("p").unwrap());
        fs::create_dir_all(&folder).unwrap();
        let records = records(&mut authority, 9);
        let mut chains = Chains::open(&folder, EVIDENCE_FILE_BYTES_MAX).unwrap();
        assert!(matches!(chains.write(&records[..2]), (Ok(()), 0)));
        let full = File::options().write(true).open("/dev/full").unwrap();
        let good = std::mem::replace(&mut chains.files.file, full);
        let (outcome, count) = chains.write(&records[2..5]);
        assert_eq!((outcome.unwrap_err().kind(), count), (io::ErrorKind::StorageFull, 3));
        assert!(matches!(chains.write(&records[5..6]), (Err(_), 1)));
        // Half of a line was written before the disk was full.
        (&good).write_all(b"{\"conversation\":\"amy~").unwrap();
        chains.files.file = good;
        assert!(matches!(chains.write(&records[6..]), (Ok(()), 0)));
        drop(chains);
        let bundle = prove(&folder, "amy~bob").unwrap();
        let verified = bundle.verify(&authority.trust().unwrap()).unwrap();
        let numbers: Vec<(u64, u64)> = verified.said.iter().map(|said| (said.entry, said.sequence)).collect();
        assert_eq!(numbers, [(1, 1), (2, 2), (3, 7), (4, 8), (5, 9)]);
        assert_eq!(verified.gaps, ["before entry 3: 4 messages could not be kept"]);
        assert_eq!(verified.missing, ["messages 3 to 6 of amy"]);
        assert!(verified.to_string().contains("4 messages could not be kept"), "{verified}");
        let hidden = bundle.to_json().replace("\"lost\": 4", "\"lost\": 3");
        let error = EvidenceBundle::from_json(&hidden).unwrap().verify(&authority.trust().unwrap()).unwrap_err();
        assert!(error.to_string().starts_with("entry 4: it does not follow"), "{error}");
        fs::remove_dir_all(folder).unwrap();
    }

    /// Evidence of a whole node, on a file system that is too small.
    #[test]
    fn lost_messages_are_logged_once() {
        let (folder, mut authority) = (folder("told"), Authority::create("p").unwrap());
        fs::create_dir_all(&folder).unwrap();
        let chains = Chains::open(&folder, EVIDENCE_FILE_BYTES_MAX).unwrap();
        let mut broken =
            Chains { files: EvidenceFiles { file: File::open("/dev/full").unwrap(), ..chains.files }, ..chains };
        let (log, lines) = std::sync::mpsc::channel();
        let queue = RecordQueue::default();
        let records = records(&mut authority, 4);
        records.into_iter().for_each(|record| queue.put(record));
        queue.close();
        run(&mut broken, &queue, &|line| log.send(line.to_owned()).unwrap());
        assert_eq!(queue.lost(), 4);
        let told: Vec<String> = lines.try_iter().collect();
        assert!(told.len() == 1 && told[0].starts_with("evidence is being lost: "), "{told:?}");
        fs::remove_dir_all(folder).unwrap();
    }

    /// A forgotten conversation begins anew, and its bundle says so.
    #[test]
    fn number_of_conversations_is_limited() {
        let (folder, mut authority) = (folder("many"), Authority::create("p").unwrap());
        fs::create_dir_all(&folder).unwrap();
        let records = records(&mut authority, 4);
        let mut chains = Chains::open(&folder, EVIDENCE_FILE_BYTES_MAX).unwrap();
        chains.ends = RecentMap::new(8);
        let others = |chains: &mut Chains| {
            for number in 0..100 {
                let conversation = Text::from(format!("{number}{}", "long".repeat(1_000)));
                let (agent, node) = (records[0].agent.clone(), records[0].node.clone());
                let EvidenceRecord { direction, signature, ref document, .. } = records[0];
                let other =
                    EvidenceRecord { direction, conversation, signature, document: document.clone(), agent, node };
                assert!(chains.write(&[other]).0.is_ok());
            }
        };
        assert!(chains.write(&records[..2]).0.is_ok());
        others(&mut chains);
        assert!(chains.write(&records[2..]).0.is_ok() && chains.ends.len() <= 8);
        drop(chains);
        let verified = prove(&folder, "amy~bob").unwrap().verify(&authority.trust().unwrap()).unwrap();
        let numbers: Vec<(u64, u64)> = verified.said.iter().map(|said| (said.entry, said.sequence)).collect();
        assert_eq!(numbers, [(1, 1), (2, 2), (1, 3), (2, 4)]);
        assert_eq!(verified.gaps, ["at entry 1 the record begins anew: there may be others before it"]);
        fs::remove_dir_all(folder).unwrap();
    }

    /// A bundle with any one byte changed proves nothing, and breaks nothing.
    #[test]
    fn changed_bundle_byte_is_detected() {
        /// Step between the tried bytes: trying all of them would take a minute.
        const STEP: usize = 17;
        let (folder, mut authority) = (folder("bytes"), Authority::create("p").unwrap());
        let evidence = open(&folder, EVIDENCE_FILE_BYTES_MAX);
        sign(&mut authority, &evidence, 2);
        let (trust, json) = (authority.trust().unwrap(), prove(&folder, "amy~bob").unwrap().to_json());
        assert!(EvidenceBundle::from_json(&json).and_then(|bundle| bundle.verify(&trust)).is_ok());
        for at in (0..json.trim_end().len()).step_by(STEP) {
            for flip in [0x01, 0x20] {
                let mut bytes = json.clone().into_bytes();
                bytes[at] ^= flip;
                let Ok(text) = String::from_utf8(bytes) else { continue };
                let outcome = EvidenceBundle::from_json(&text).and_then(|bundle| bundle.verify(&trust));
                assert!(outcome.is_err(), "byte {at}: {:?}", text.get(at.saturating_sub(20)..at + 20));
            }
        }
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn malformed_evidence_is_reported() {
        let folder = folder("none");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("evidence-000001.jsonl"), "nonsense\n").unwrap();
        let error = prove(&folder, "c").unwrap_err().to_string();
        assert!(error.contains("evidence-000001.jsonl:1: not evidence"), "{error}");
        // A line that was being written when the process ended.
        fs::write(folder.join("evidence-000001.jsonl"), "{\"conv").unwrap();
        assert_eq!(prove(&folder, "c").unwrap_err().to_string(), "no evidence of conversation c");
        fs::remove_dir_all(folder).unwrap();
    }
}
