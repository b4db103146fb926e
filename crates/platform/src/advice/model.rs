//! The arithmetic; the formulae are in the module's text.

use serde::{Deserialize, Serialize};

use super::assumed::{COMPILING_NS, HOP_NEWS_BYTES, PACKING_NS, TIME_SLICE_S};
use crate::limits::CODE_PART_BYTES;

/// All that the estimates rest on, known or assumed. Times in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Facts {
    /// Bytes of all documents.
    pub documents_bytes: f64,
    /// What of them is wanted: those that pass, or what is kept of them.
    pub wanted_bytes: f64,
    /// What who is asked sends, before it is packed.
    pub sent_bytes: f64,
    /// What documents are packed to.
    pub packs_to: f64,
    /// Who is asked packs.
    pub packed: bool,
    /// Who is asked works with the documents, and not who asks.
    pub picks: bool,
    /// Requests one after the other, and bytes of each.
    pub requests: f64,
    /// See `requests`.
    pub question_bytes: f64,
    /// Seconds of work with all documents on an idle core of this node: by who asks, and by the agent.
    pub work_s: f64,
    /// See `work_s`.
    pub agent_work_s: f64,
    /// Seconds to send and read a byte in a message.
    pub handling_s: f64,
    /// Bytes of the agent's state.
    pub state_bytes: f64,
    /// Bytes of its code that the other node lacks.
    pub code_bytes: f64,
    /// Seconds of a round trip.
    pub round_trip_s: f64,
    /// Bytes a second, to the other node and back.
    pub out_bytes_per_s: f64,
    /// See `out_bytes_per_s`.
    pub back_bytes_per_s: f64,
    /// Seconds of a hop that are neither latency nor transfer.
    pub hop_s: f64,
    /// Whether other nodes have to follow: the hop to the other node, and the one home.
    pub followed: (bool, bool),
    /// What share of a core somebody gets who has long to work: here, and there.
    pub share_here: f64,
    /// See `share_here`.
    pub share_there: f64,
    /// How fast a core is there, beside one here.
    pub speed_there: f64,
    /// Clients on the link, this one included; and how often each does such a job in a second, if that is known.
    pub clients: f64,
    /// See `clients`.
    pub per_second: Option<f64>,
}

/// What time goes into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Term {
    /// Waiting for the other end.
    Latency,
    /// Bytes on the way.
    Transfer,
    /// Writing, packing and reading what travels.
    Packing,
    /// The work itself.
    Work,
}

impl Term {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Latency, Self::Transfer, Self::Packing, Self::Work];

    /// As it is shown.
    pub fn name(self) -> &'static str {
        match self {
            Self::Latency => "latency",
            Self::Transfer => "transfer",
            Self::Packing => "packing",
            Self::Work => "work",
        }
    }
}

/// What one way is expected to take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Estimate {
    /// Seconds that one waits for the other end.
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
    /// All of it.
    pub fn seconds(&self) -> f64 {
        self.latency_s + self.transfer_s + self.packing_s + self.work_s
    }

    /// One of its parts.
    pub fn of(&self, term: Term) -> f64 {
        match term {
            Term::Latency => self.latency_s,
            Term::Transfer => self.transfer_s,
            Term::Packing => self.packing_s,
            Term::Work => self.work_s,
        }
    }
}

impl Facts {
    /// Sending the agent.
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

    /// Having the documents sent.
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

    /// Work that takes this time on an idle core here, done there.
    fn there(&self, here_s: f64) -> f64 {
        worked(here_s / self.speed_there, self.share_there)
    }

    /// What takes this time if nobody else wants it.
    fn shared(&self, alone_s: f64) -> f64 {
        let others = (self.clients - 1.0).max(0.0);
        let busy = self.per_second.map_or(f64::INFINITY, |often| others * often * alone_s);
        let stretched = if busy < 1.0 { 1.0 / (1.0 - busy) } else { f64::INFINITY };
        alone_s * stretched.min(others + 1.0)
    }
}

/// How long this much work takes with such a share of a core. Who has slept is let work for a while at once.
fn worked(alone_s: f64, share: f64) -> f64 {
    let at_once = alone_s.min(TIME_SLICE_S);
    at_once + (alone_s - at_once) / share
}
