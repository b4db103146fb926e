//! Model: the arithmetic of the estimates; the formulae are in the module's text.

use serde::{Deserialize, Serialize};

use super::assumed::{COMPILING_NS, HOP_NEWS_BYTES, PACKING_NS, TIME_SLICE_S};
use crate::limits::CODE_PART_BYTES;

/// Facts that the estimates rest on, known or assumed. Times in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CostFacts {
    /// Bytes of all documents.
    pub documents_bytes: f64,
    /// Bytes of documents that are wanted: of those that pass, or of the part of each that is kept.
    pub wanted_bytes: f64,
    /// Bytes that the node that is asked sends, before they are packed.
    pub sent_bytes: f64,
    /// Share to which documents are packed.
    pub packs_to: f64,
    /// Compression of documents by the node that is asked.
    pub packed: bool,
    /// True if the node that is asked works with the documents, false if the asker does.
    pub picks: bool,
    /// Requests, one after the other.
    pub requests: f64,
    /// Bytes of each request.
    pub question_bytes: f64,
    /// Seconds of the asker's work with all documents on an idle core of this node.
    pub work_s: f64,
    /// Seconds of the agent's work with all documents on an idle core of this node.
    pub agent_work_s: f64,
    /// Seconds to send and read a byte in a message.
    pub handling_s: f64,
    /// Bytes of the agent's state.
    pub state_bytes: f64,
    /// Bytes of the agent's code that the other node lacks.
    pub code_bytes: f64,
    /// Seconds of a round trip.
    pub round_trip_s: f64,
    /// Bytes a second to the other node.
    pub out_bytes_per_s: f64,
    /// Bytes a second from the other node.
    pub back_bytes_per_s: f64,
    /// Seconds of a hop that are neither latency nor transfer.
    pub hop_s: f64,
    /// True for each hop, to the other node and home, that other nodes have to follow.
    pub followed: (bool, bool),
    /// Share of a core here for long work.
    pub share_here: f64,
    /// Share of a core there for long work.
    pub share_there: f64,
    /// Speed of a core there, relative to one here.
    pub speed_there: f64,
    /// Clients on the link, this one included.
    pub clients: f64,
    /// Number of jobs that each client does in a second, if known.
    pub per_second: Option<f64>,
}

/// Parts of an estimate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EstimateTerm {
    /// Waiting for the other end.
    Latency,
    /// Bytes on the way.
    Transfer,
    /// Writing, packing and reading what travels.
    Packing,
    /// Work proper.
    Work,
}

impl EstimateTerm {
    /// All parts.
    pub const ALL: [Self; 4] = [Self::Latency, Self::Transfer, Self::Packing, Self::Work];

    /// Returns the part as it is shown.
    pub fn name(self) -> &'static str {
        match self {
            Self::Latency => "latency",
            Self::Transfer => "transfer",
            Self::Packing => "packing",
            Self::Work => "work",
        }
    }
}

/// Estimate of one choice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Estimate {
    /// Seconds of waiting for the other end.
    pub latency_s: f64,
    /// Seconds for which bytes are on the way.
    pub transfer_s: f64,
    /// Seconds of writing, packing and reading what travels.
    pub packing_s: f64,
    /// Seconds of work.
    pub work_s: f64,
    /// Bytes to the other node.
    pub bytes_out: f64,
    /// Bytes back.
    pub bytes_back: f64,
}

impl Estimate {
    /// Returns the sum of all parts.
    pub fn seconds(&self) -> f64 {
        self.latency_s + self.transfer_s + self.packing_s + self.work_s
    }

    /// Returns one part.
    pub fn of(&self, term: EstimateTerm) -> f64 {
        match term {
            EstimateTerm::Latency => self.latency_s,
            EstimateTerm::Transfer => self.transfer_s,
            EstimateTerm::Packing => self.packing_s,
            EstimateTerm::Work => self.work_s,
        }
    }
}

impl CostFacts {
    /// Returns the estimate for sending the agent.
    pub fn go(&self) -> Estimate {
        let loot = self.wanted_bytes * self.packs_to;
        let bytes_out = self.state_bytes + self.code_bytes + 2.0 * HOP_NEWS_BYTES;
        let bytes_back = self.state_bytes + loot + 2.0 * HOP_NEWS_BYTES;
        let legs = |followed: bool| 1.5 + f64::from(u8::from(followed));
        let parts = (self.code_bytes / CODE_PART_BYTES as f64).ceil();
        let states = 2.0 * self.state_bytes + self.wanted_bytes;
        let packing = (states * PACKING_NS + self.code_bytes * COMPILING_NS) * 1e-9;
        Estimate {
            latency_s: self.round_trip_s * (legs(self.followed.0) + legs(self.followed.1) + parts),
            transfer_s: self.transfer(bytes_out, bytes_back),
            packing_s: 2.0 * self.hop_s + self.there(packing),
            work_s: self.shared(self.there(self.agent_work_s)),
            bytes_out,
            bytes_back,
        }
    }

    /// Returns the estimate for having the documents sent.
    pub fn ask(&self) -> Estimate {
        let bytes_out = self.requests * self.question_bytes;
        let bytes_back = self.sent_bytes * if self.packed { self.packs_to } else { 1.0 };
        let work_s = match self.picks {
            true => self.shared(self.there(self.work_s)),
            false => worked(self.work_s, self.share_here),
        };
        Estimate {
            latency_s: self.round_trip_s * self.requests,
            transfer_s: self.transfer(bytes_out, bytes_back),
            packing_s: worked(self.sent_bytes * self.handling_s, self.share_here),
            work_s,
            bytes_out,
            bytes_back,
        }
    }

    fn transfer(&self, out: f64, back: f64) -> f64 {
        self.shared(out / self.out_bytes_per_s) + self.shared(back / self.back_bytes_per_s)
    }

    /// Returns the time there of work that takes this time on an idle core here.
    fn there(&self, here_s: f64) -> f64 {
        worked(here_s / self.speed_there, self.share_there)
    }

    /// Returns the time on a shared resource of a step that takes this time alone.
    fn shared(&self, alone_s: f64) -> f64 {
        let others = (self.clients - 1.0).max(0.0);
        let busy = self.per_second.map_or(f64::INFINITY, |often| others * often * alone_s);
        let stretched = if busy < 1.0 { 1.0 / (1.0 - busy) } else { f64::INFINITY };
        alone_s * stretched.min(others + 1.0)
    }
}

/// Returns the time of this much work with such a share of a core. A thread that has slept may work for a while at
/// once.
fn worked(alone_s: f64, share: f64) -> f64 {
    let at_once = alone_s.min(TIME_SLICE_S);
    at_once + (alone_s - at_once) / share
}
