//! The platform's time.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use whimbrel_platform::Time;

/// Source of the platform's time.
#[derive(Clone, Copy, Debug)]
pub(crate) enum PlatformClock {
    /// The machine's clock, from the platform's start.
    Real(Instant),
}

impl PlatformClock {
    pub fn now(&self) -> Time {
        match self {
            Self::Real(start) => Time(u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX)),
        }
    }

    /// Returns milliseconds since 1970-01-01 UTC.
    pub fn wall_ms(&self) -> u64 {
        match self {
            Self::Real(_) => SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX)),
        }
    }
}
