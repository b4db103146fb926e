//! Jobs: the work that advice is asked for.

use serde::{Deserialize, Serialize};
use whimbrel_acl::Value;

/// Job with documents on another node. Unset values are measured if possible, and otherwise assumed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DocumentJob {
    /// Number of documents.
    pub documents: u64,
    /// Bytes of each document.
    pub bytes: u64,
    /// Share of documents that passes and is wanted here, from 0 to 1.
    pub pass: Option<f64>,
    /// Share of each such document that is wanted, from 0 to 1; 1 if unset.
    pub keeps: Option<f64>,
    /// Requests that a client makes, one after the other.
    pub requests: Option<u64>,
    /// Bytes of each request.
    pub question: Option<u64>,
    /// Filter at the node that is asked: the node picks the documents that pass.
    pub picks: bool,
    /// Compression at the node that is asked: the node packs the documents that it sends.
    pub packed: bool,
    /// Share of a document's bytes that remains after packing.
    pub packs_to: Option<f64>,
    /// Nanoseconds of work with a byte, by the asker.
    pub work_ns: Option<f64>,
    /// Nanoseconds of work with a byte, by the agent; as by the asker if unset.
    pub agent_work_ns: Option<f64>,
    /// Nanoseconds to send, read and deliver a byte in a message.
    pub handling_ns: Option<f64>,
    /// Bytes of the agent's state as it travels.
    pub state: Option<u64>,
    /// Bytes of the agent's code, if the other node lacks the code.
    pub code: Option<u64>,
    /// Clients that do such jobs over this link, this one included.
    pub clients: Option<u64>,
    /// Number of jobs that each client does in a second.
    pub per_second: Option<f64>,
}

/// Fault of a job.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JobError {
    /// Value that is no list of terms.
    #[error("a job is a list such as [documents(60), bytes(4096), pass(0.05)], not {0}")]
    NoList(String),
    /// Unknown part of a job.
    #[error(
        "{0} is no part of a job: expected documents(N), bytes(N), pass(Share), keeps(Share), requests(N), question(Bytes), picks, \
         packed, packs_to(Share), work(Ns), agent_work(Ns), handling(Ns), state(Bytes), code(Bytes), clients(N) or per_second(N)"
    )]
    Unknown(String),
    /// Part that is no number, or out of range.
    #[error("{part} must be {expected}")]
    OutOfRange {
        /// Part.
        part: String,
        /// Expected range.
        expected: &'static str,
    },
    /// Missing part.
    #[error("a job says how many documents there are, and how many bytes each has: {0} is missing")]
    Missing(&'static str),
}

/// Highest count: far beyond what is possible, so that sums stay finite.
const COUNT_MAX: f64 = 1e15;

impl DocumentJob {
    /// Returns a job with these documents.
    pub fn with(documents: u64, bytes: u64) -> Self {
        Self { documents, bytes, ..Self::default() }
    }

    /// Reads a list as programs write it: `[documents(60), bytes(4096), pass(0.05)]`.
    ///
    /// # Errors
    /// The value is no such list, or a part is out of its range.
    pub fn read(value: &Value) -> Result<Self, JobError> {
        if !value.is_list() {
            return Err(JobError::NoList(value.to_string()));
        }
        let mut job = Self::default();
        let mut said = (false, false);
        for part in value.items() {
            let name = part.functor().map_or("", |name| name.as_str());
            said = (said.0 || name == "documents", said.1 || name == "bytes");
            job.take(name, part)?;
        }
        match said {
            (true, true) => job.checked(),
            (false, _) => Err(JobError::Missing("documents(N)")),
            _ => Err(JobError::Missing("bytes(N)")),
        }
    }

    fn take(&mut self, name: &str, part: &Value) -> Result<(), JobError> {
        let unknown = || JobError::Unknown(part.to_string());
        let number = || match part.args() {
            [number] => number.as_f64().ok_or_else(|| wrong(name, "a number")),
            _ => Err(unknown()),
        };
        let count = || {
            let count = number()?;
            let fits = count.fract() == 0.0 && (0.0..=COUNT_MAX).contains(&count);
            if fits { Ok(count as u64) } else { Err(wrong(name, COUNT)) }
        };
        match (name, part.args().len()) {
            ("documents", _) => self.documents = count()?,
            ("bytes", _) => self.bytes = count()?,
            ("pass", _) => self.pass = Some(number()?),
            ("keeps", _) => self.keeps = Some(number()?),
            ("requests", _) => self.requests = Some(count()?),
            ("question", _) => self.question = Some(count()?),
            ("picks", 0) => self.picks = true,
            ("packed", 0) => self.packed = true,
            ("packs_to", _) => self.packs_to = Some(number()?),
            ("work", _) => self.work_ns = Some(number()?),
            ("agent_work", _) => self.agent_work_ns = Some(number()?),
            ("handling", _) => self.handling_ns = Some(number()?),
            ("state", _) => self.state = Some(count()?),
            ("code", _) => self.code = Some(count()?),
            ("clients", _) => self.clients = Some(count()?),
            ("per_second", _) => self.per_second = Some(number()?),
            _ => return Err(unknown()),
        }
        Ok(())
    }

    /// Checks that all parts are in range. For jobs from elsewhere.
    ///
    /// # Errors
    /// The part that is not.
    pub fn checked(self) -> Result<Self, JobError> {
        let counts = [
            ("documents", Some(self.documents)),
            ("bytes", Some(self.bytes)),
            ("requests", self.requests),
            ("question", self.question),
            ("state", self.state),
            ("code", self.code),
            ("clients", self.clients),
        ];
        if let Some((name, _)) = counts.into_iter().find(|(_, count)| count.is_some_and(|it| it as f64 > COUNT_MAX)) {
            return Err(wrong(name, COUNT));
        }
        let shares = [("pass", self.pass), ("keeps", self.keeps), ("packs_to", self.packs_to)];
        if let Some(name) = beyond(&shares, 1.0) {
            return Err(wrong(name, "a share from 0 to 1"));
        }
        let amounts = [
            ("work", self.work_ns),
            ("agent_work", self.agent_work_ns),
            ("handling", self.handling_ns),
            ("per_second", self.per_second),
        ];
        match beyond(&amounts, COUNT_MAX) {
            Some(name) => Err(wrong(name, "a number from 0 to 1e15")),
            None => Ok(self),
        }
    }
}

const COUNT: &str = "a whole number from 0 to 1e15";

fn wrong(part: &str, expected: &'static str) -> JobError {
    JobError::OutOfRange { part: part.to_owned(), expected }
}

fn beyond<'a>(parts: &[(&'a str, Option<f64>)], most: f64) -> Option<&'a str> {
    let is_beyond = |value: f64| !(0.0..=most).contains(&value);
    parts.iter().find(|(_, value)| value.is_some_and(is_beyond)).map(|(name, _)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn term(name: &str, number: f64) -> Value {
        Value::term(name, [Value::Num(number)])
    }

    #[test]
    fn job_is_read_as_written() {
        let parts = [term("documents", 60.0), term("bytes", 4096.0), term("pass", 0.05), Value::atom("packed")];
        let expected = DocumentJob { pass: Some(0.05), packed: true, ..DocumentJob::with(60, 4096) };
        assert_eq!(DocumentJob::read(&Value::list(parts)), Ok(expected));
    }

    #[test]
    fn malformed_job_is_refused() {
        let job = |parts: Vec<Value>| DocumentJob::read(&Value::list(parts)).unwrap_err().to_string();
        let whole = || vec![term("documents", 60.0), term("bytes", 4096.0)];
        let and = |more: Value| job(whole().into_iter().chain([more]).collect());
        assert_eq!(job(vec![term("documents", 60.0)]), JobError::Missing("bytes(N)").to_string());
        assert_eq!(job(vec![]), JobError::Missing("documents(N)").to_string());
        assert_eq!(and(term("pass", 5.0)), "pass must be a share from 0 to 1");
        assert_eq!(and(term("work", -1.0)), "work must be a number from 0 to 1e15");
        assert_eq!(and(term("work", f64::NAN)), "work must be a number from 0 to 1e15");
        assert_eq!(and(term("state", 0.5)), "state must be a whole number from 0 to 1e15");
        assert_eq!(and(Value::term("state", [Value::atom("much")])), "state must be a number");
        assert!(and(Value::atom("fast")).starts_with("fast is no part of a job: expected documents(N)"));
        assert!(and(Value::term("packed", [Value::Num(1.0)])).starts_with("packed(1) is no part"));
        assert!(and(Value::Num(1.0)).starts_with("1 is no part"));
        assert_eq!(
            DocumentJob::read(&Value::atom("all")).unwrap_err().to_string(),
            "a job is a list such as [documents(60), bytes(4096), pass(0.05)], not all"
        );
    }
}
