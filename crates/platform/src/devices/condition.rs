//! Condition of a device, as it reports it.

use serde::{Deserialize, Serialize};

use crate::limits::{DEVICE_BATTERY_LOW_PERCENT, DEVICE_HIDDEN_PART, DEVICE_PLACES_MAX};

/// Battery of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Battery {
    /// Charge, 0 to 100.
    pub percent: u8,
    /// Charging of the battery.
    pub charging: bool,
}

/// Condition of a device, and the limits set by its user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Condition {
    /// Visibility of the device's page. Browsers give hidden pages little time.
    pub visible: bool,
    /// Battery, if the device has one and tells.
    pub battery: Option<Battery>,
    /// Places: the number of parts of work at a time, which is that of the workers that its user allows.
    pub places: u32,
}

impl Default for Condition {
    fn default() -> Self {
        Self { visible: true, battery: None, places: 1 }
    }
}

impl Condition {
    /// Returns how many of these compute units count now.
    pub fn units_of(&self, units: u32) -> u32 {
        let is_low = |battery: &Battery| !battery.charging && battery.percent < DEVICE_BATTERY_LOW_PERCENT;
        match self {
            Self { places: 0, .. } => 0,
            Self { battery: Some(battery), .. } if is_low(battery) => 0,
            Self { visible: false, .. } => units.div_ceil(DEVICE_HIDDEN_PART),
            Self { .. } => units,
        }
    }

    /// Returns the number of parts of work at a time.
    pub fn places(&self) -> u32 {
        self.places.min(DEVICE_PLACES_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(condition: Condition, expected: u32) {
        assert_eq!(condition.units_of(80), expected);
    }

    #[test]
    fn units_depend_on_condition() {
        let well = Condition::default();
        let battery = |percent, charging| Condition { battery: Some(Battery { percent, charging }), ..well };
        check(well, 80);
        check(Condition { visible: false, ..well }, 10);
        check(Condition { places: 0, ..well }, 0);
        check(battery(DEVICE_BATTERY_LOW_PERCENT, false), 80);
        check(battery(DEVICE_BATTERY_LOW_PERCENT - 1, false), 0);
        check(battery(1, true), 80);
        check(Condition { visible: false, ..battery(1, false) }, 0);
        assert_eq!(Condition { visible: false, ..well }.units_of(1), 1, "it still gets something");
    }
}
