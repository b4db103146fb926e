//! Claims of devices about their compute units, and the limit up to which claims count.

use std::collections::BTreeMap;

use crate::limits::{DEVICE_UNITS_MAX, DEVICE_UNITS_OVER_MEDIAN_MAX};

/// Classes per doubling of the units: each is nine percent wide.
const CLASSES_PER_DOUBLING: f64 = 8.0;

/// Claims of devices; see the module. They are counted by classes, which are few, however many devices there are.
#[derive(Debug, Default)]
pub(super) struct Claims {
    /// Number of devices in each class that has any, the lowest class first.
    classes: BTreeMap<u16, usize>,
    count: usize,
}

fn class_of(units: u32) -> u16 {
    (f64::from(units.max(1)).log2() * CLASSES_PER_DOUBLING) as u16
}

/// Returns the fewest units that are in no lower class.
fn least_of(class: u16) -> f64 {
    (f64::from(class) / CLASSES_PER_DOUBLING).exp2()
}

impl Claims {
    pub fn add(&mut self, units: u32) {
        *self.classes.entry(class_of(units)).or_default() += 1;
        self.count += 1;
    }

    pub fn remove(&mut self, units: u32) {
        let class = class_of(units);
        if let Some(count) = self.classes.get_mut(&class) {
            *count -= 1;
            self.count -= 1;
            if *count == 0 {
                self.classes.remove(&class);
            }
        }
    }

    /// Returns the class of the lower median of all, without one device of this class.
    fn median(&self, without: Option<u16>) -> Option<u16> {
        let count = self.count.checked_sub(usize::from(without.is_some()))?;
        let mut behind = count.checked_sub(1)? / 2;
        self.classes.iter().find_map(|(class, of_it)| {
            let of_it = of_it - usize::from(without == Some(*class));
            let is_it = behind < of_it;
            behind = behind.saturating_sub(of_it);
            is_it.then_some(*class)
        })
    }

    fn bound(median: Option<u16>) -> u32 {
        let most = median
            .map_or(f64::from(DEVICE_UNITS_MAX), |class| least_of(class + 1) * f64::from(DEVICE_UNITS_OVER_MEDIAN_MAX));
        most.min(f64::from(DEVICE_UNITS_MAX)) as u32
    }

    /// Returns the most units for which a device with this claim may count: a multiple of the others' median.
    pub fn most_beside(&self, units: u32) -> u32 {
        Self::bound(self.median(Some(class_of(units))))
    }

    /// Returns the most units for which the device with the highest claim may count. It changes whenever that of others
    /// may.
    pub fn most(&self) -> u32 {
        Self::bound(self.classes.keys().next_back().and_then(|class| self.median(Some(*class))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_median_bounds_claim() {
        let mut claims = Claims::default();
        claims.add(1_000_000_000);
        assert_eq!(claims.most_beside(1_000_000_000), DEVICE_UNITS_MAX, "alone it does all, whatever it says");
        for _ in 0..4 {
            claims.add(100);
        }
        let most = claims.most_beside(1_000_000_000);
        let per_cent = most * 100 / (100 * DEVICE_UNITS_OVER_MEDIAN_MAX);
        assert!((100..=110).contains(&per_cent), "{most}");
        assert!(claims.most_beside(100) >= 100);
        claims.remove(1_000_000_000);
        [100; 4].into_iter().for_each(|units| claims.remove(units));
        assert_eq!((claims.count, claims.classes.len()), (0, 0));
    }
}
