//! Time as an input.

use std::ops::{Add, Sub};
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Moment, in microseconds since the platform started; real or simulated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Time(pub u64);

impl Time {
    /// Start of the platform.
    pub const ZERO: Self = Self(0);
    /// Moment later than any that comes.
    pub const NEVER: Self = Self(u64::MAX);

    /// Returns the moment this long after the platform's start.
    pub fn from_ms(ms: u64) -> Self {
        Self(ms.saturating_mul(1000))
    }

    /// Returns the milliseconds since the platform's start.
    pub fn as_ms(self) -> u64 {
        self.0 / 1000
    }
}

impl Add<Duration> for Time {
    type Output = Self;

    fn add(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)))
    }
}

/// Duration from `other` to `self`; zero if `other` is later.
impl Sub for Time {
    type Output = Duration;

    fn sub(self, other: Self) -> Duration {
        Duration::from_micros(self.0.saturating_sub(other.0))
    }
}
