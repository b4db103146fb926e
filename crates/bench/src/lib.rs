//! Benchmarks, and societies under faults: the commands `whimbrel bench` and `whimbrel chaos` of the command line.
#![forbid(unsafe_code)]

mod arguments;
mod asl;
#[cfg(feature = "nats")]
mod chaos;
mod codec;
mod command;
mod devices;
mod durability;
#[cfg(feature = "nats")]
mod failover;
mod messaging;
#[cfg(feature = "wasm")]
mod mobility;
mod native;
mod passivation;
mod plot;
mod progress;
mod report;
mod rtt;
mod sessions;
mod state;
mod studies;

pub use self::arguments::BenchArguments;
#[cfg(feature = "nats")]
pub use self::chaos::{ChaosArguments, chaos};
pub use self::command::bench;
use self::plot::{TimesPicture, picture, times};
use self::progress::Watching;
use self::report::{json, line, line_of, object, rows, table};
use self::studies::{
    AgentLanguage, FibonacciLatency, Metrics, PATIENCE, Study, StudyResult, deviation, peak_bytes, percentile,
    resident_bytes, resident_bytes_of,
};
