//! Fleet of devices, and the choice of the next one.
//!
//! A device states its own compute units, and may exaggerate. So they count up to a multiple of the median of the
//! others' ([`DEVICE_UNITS_OVER_MEDIAN_MAX`](crate::limits::DEVICE_UNITS_OVER_MEDIAN_MAX)). They count for less if the
//! device has shown less ([`Fleet::note_shown`]).

use rustc_hash::FxHashMap;
use whimbrel_acl::Symbol;

use super::claims::Claims;
use super::condition::Condition;
use super::weights::Weights;
use crate::limits::{
    DEVICE_OVERDUE_MAX, DEVICE_SHOWN_ANSWERS_MIN, DEVICE_SHOWN_TOLERANCE, DEVICE_UNITS_MAX, DEVICE_WRONG_MAX,
    DEVICES_MAX, DEVICES_REMEMBERED_MAX,
};

/// Number of draws of unsuitable devices before all are searched one by one.
const DRAWS_MAX: usize = 8;

/// Device of a fleet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Device {
    /// Agent that speaks for the device.
    pub agent: Symbol,
    /// Compute units, as the device measured when it joined or later: 1 to [`DEVICE_UNITS_MAX`].
    pub units: u32,
    /// Condition of the device.
    pub condition: Condition,
}

/// Reason why a device is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FleetError {
    /// Too many devices.
    #[error("at most {DEVICES_MAX} devices")]
    TooMany,
    /// Compute units that cannot be.
    #[error("{0} compute units: expected 1 to {DEVICE_UNITS_MAX}")]
    Units(u32),
}

#[derive(Debug)]
struct FleetMember {
    device: Device,
    /// Number of places that are taken.
    taken: u32,
    /// Record of the device's past work.
    record: WorkRecord,
    shown: Slowness,
}

/// Record of a device's past work.
#[derive(Clone, Copy, Debug, Default)]
struct WorkRecord {
    wrong: u32,
    overdue_in_a_row: u32,
}

/// Observed slowness of a device: the factor by which it takes longer than others for the same units, recently.
#[derive(Clone, Copy, Debug)]
struct Slowness {
    times: f64,
    answers: u32,
}

impl Default for Slowness {
    fn default() -> Self {
        Self { times: 1.0, answers: 0 }
    }
}

impl Slowness {
    fn note(&mut self, times: f64) {
        self.answers = self.answers.saturating_add(1);
        // The newest answers count most; the first ones replace the assumption.
        let share = (1.0 / f64::from(self.answers)).max(0.2);
        self.times += (times - self.times) * share;
    }

    /// Returns the part of these compute units that the device has shown.
    fn of(self, units: u32) -> u32 {
        if self.answers < DEVICE_SHOWN_ANSWERS_MIN || self.times <= DEVICE_SHOWN_TOLERANCE {
            return units;
        }
        ((f64::from(units) * DEVICE_SHOWN_TOLERANCE / self.times) as u32).max(1)
    }
}

impl WorkRecord {
    /// Returns true if the device gets no work any more.
    fn is_shunned(&self) -> bool {
        self.wrong >= DEVICE_WRONG_MAX || self.overdue_in_a_row >= DEVICE_OVERDUE_MAX
    }
}

impl FleetMember {
    /// Returns the compute units that count, if those of others allow `most`.
    fn units(&self, most: u32) -> u32 {
        self.shown.of(self.device.units).min(most)
    }

    fn weight(&self, most: u32) -> u32 {
        let is_free = !self.record.is_shunned() && self.taken < self.device.condition.places();
        if is_free { self.device.condition.units_of(self.units(most)) } else { 0 }
    }
}

/// Fleet of devices, known by the agents that speak for them; see the module.
///
/// Inputs: devices that join, change or leave ([`Fleet::join`], [`Fleet::leave`]), and parts of work that are finished
/// ([`Fleet::release`]). Output: the next device ([`Fleet::choose`]). Of the devices with room, each is chosen in
/// proportion to its compute units.
#[derive(Debug, Default)]
pub struct Fleet {
    places: Vec<Option<FleetMember>>,
    weights: Weights,
    /// Claims of the devices, and the bound that applied when the weights of the highest claims were set.
    claims: Claims,
    most: u32,
    by_agent: FxHashMap<Symbol, usize>,
    empty: Vec<usize>,
    /// Records of absent devices that were wrong: they do not return with a clean record.
    remembered: FxHashMap<Symbol, WorkRecord>,
}

impl Fleet {
    /// Returns the number of devices.
    pub fn len(&self) -> usize {
        self.by_agent.len()
    }

    /// Returns true if there are no devices.
    pub fn is_empty(&self) -> bool {
        self.by_agent.is_empty()
    }

    /// Returns the compute units of the devices with room.
    pub fn units_free(&self) -> u64 {
        self.weights.total()
    }

    /// Adds a device, or updates one whose condition changed. Its present work continues.
    ///
    /// # Errors
    /// There are too many devices, or its compute units cannot be.
    pub fn join(&mut self, device: Device) -> Result<(), FleetError> {
        if !(1..=DEVICE_UNITS_MAX).contains(&device.units) {
            return Err(FleetError::Units(device.units));
        }
        if let Some(&at) = self.by_agent.get(&device.agent) {
            let before = self.place(device.agent).map_or(device.units, |place| place.device.units);
            self.claims.remove(before);
            self.claims.add(device.units);
            self.change(at, |place| {
                place.shown.times *= f64::from(device.units) / f64::from(before);
                place.device = device;
            });
            self.bound();
            return Ok(());
        }
        if self.len() >= DEVICES_MAX {
            return Err(FleetError::TooMany);
        }
        let at = self.empty.pop().unwrap_or_else(|| {
            self.places.push(None);
            self.places.len() - 1
        });
        if let Some(place) = self.places.get_mut(at) {
            let record = self.remembered.remove(&device.agent).unwrap_or_default();
            *place = Some(FleetMember { device, taken: 0, record, shown: Slowness::default() });
        }
        self.by_agent.insert(device.agent, at);
        self.claims.add(device.units);
        self.change(at, |_| ());
        self.bound();
        Ok(())
    }

    /// Sets the weights of the highest claims, if their bound has changed.
    fn bound(&mut self) {
        let most = self.claims.most();
        let before = std::mem::replace(&mut self.most, most);
        if before == most {
            return;
        }
        // The others' weights do not depend on this device.
        let least = before.min(most);
        for at in 0..self.places.len() {
            if self.places.get(at).and_then(Option::as_ref).is_some_and(|place| place.device.units > least) {
                self.change(at, |_| ());
            }
        }
    }

    /// Returns the compute units of a device that count, apart from its condition.
    pub fn units(&self, agent: Symbol) -> Option<u32> {
        self.place(agent).map(|place| place.units(self.claims.most_beside(place.device.units)))
    }

    /// Notes the factor by which a device took longer than others, if all claims were true.
    pub(super) fn note_shown(&mut self, agent: Symbol, times: f64) {
        if let Some(&at) = self.by_agent.get(&agent) {
            self.change(at, |place| place.shown.note(times));
        }
    }

    /// Removes a device with all its work. Returns false if it was not there.
    pub fn leave(&mut self, agent: Symbol) -> bool {
        let Some(at) = self.by_agent.remove(&agent) else { return false };
        let left = self.places.get_mut(at).and_then(Option::take);
        if let Some(left) = &left {
            self.claims.remove(left.device.units);
        }
        if let Some(FleetMember { record, .. }) = left.filter(|left| left.record.wrong > 0) {
            if self.remembered.len() >= DEVICES_REMEMBERED_MAX {
                self.remembered.clear();
            }
            self.remembered.insert(agent, WorkRecord { overdue_in_a_row: 0, ..record });
        }
        self.weights.set(at, 0);
        self.empty.push(at);
        self.bound();
        true
    }

    /// Returns a device.
    pub fn device(&self, agent: Symbol) -> Option<&Device> {
        self.place(agent).map(|place| &place.device)
    }

    /// Returns the number of places of a device that are taken.
    pub fn taken(&self, agent: Symbol) -> u32 {
        self.place(agent).map_or(0, |place| place.taken)
    }

    /// Returns true if a device gets no work any more, because of its record.
    pub fn is_shunned(&self, agent: Symbol) -> bool {
        self.place(agent).is_some_and(|place| place.record.is_shunned())
    }

    /// Returns all devices, in no particular order.
    pub fn devices(&self) -> impl Iterator<Item = &Device> {
        self.places.iter().flatten().map(|place| &place.device)
    }

    /// Notes that a device gave another answer than the others that are believed.
    pub(super) fn note_wrong(&mut self, agent: Symbol) {
        match self.by_agent.get(&agent) {
            Some(&at) => self.change(at, |place| place.record.wrong += 1),
            None => {
                if let Some(record) = self.remembered.get_mut(&agent) {
                    record.wrong += 1;
                }
            }
        }
    }

    /// Notes that a device did not bring back a part in time.
    pub(super) fn note_overdue(&mut self, agent: Symbol) {
        if let Some(&at) = self.by_agent.get(&agent) {
            self.change(at, |place| place.record.overdue_in_a_row += 1);
        }
    }

    /// Notes that a device brought back a part in time.
    pub(super) fn note_in_time(&mut self, agent: Symbol) {
        if let Some(&at) = self.by_agent.get(&agent) {
            self.change(at, |place| place.record.overdue_in_a_row = 0);
        }
    }

    /// Chooses a suitable device with room, and takes one of its places. `random` returns uniform numbers.
    pub fn choose(&mut self, random: &mut dyn FnMut() -> u64, suits: &dyn Fn(Symbol) -> bool) -> Option<Symbol> {
        let at = self.draw(random, suits)?;
        self.change(at, |place| place.taken += 1);
        self.places.get(at)?.as_ref().map(|place| place.device.agent)
    }

    /// Releases a place of a device that finished a part, well or not.
    pub fn release(&mut self, agent: Symbol) {
        if let Some(&at) = self.by_agent.get(&agent) {
            self.change(at, |place| place.taken = place.taken.saturating_sub(1));
        }
    }

    fn place(&self, agent: Symbol) -> Option<&FleetMember> {
        self.places.get(*self.by_agent.get(&agent)?)?.as_ref()
    }

    fn change(&mut self, at: usize, change: impl FnOnce(&mut FleetMember)) {
        if let Some(Some(place)) = self.places.get_mut(at) {
            change(place);
            self.weights.set(at, place.weight(self.claims.most_beside(place.device.units)));
        }
    }

    fn draw(&self, random: &mut dyn FnMut() -> u64, suits: &dyn Fn(Symbol) -> bool) -> Option<usize> {
        let total = self.weights.total();
        if total == 0 {
            return None;
        }
        let suits_at =
            |at: &usize| self.places.get(*at).and_then(Option::as_ref).is_some_and(|place| suits(place.device.agent));
        let drawn = (0..DRAWS_MAX).filter_map(|_| self.weights.find(below(total, random()))).find(suits_at);
        drawn.or_else(|| self.draw_among(random, &suits_at))
    }

    /// Draws among the suitable devices by a walk along all, when most do not suit.
    fn draw_among(&self, random: &mut dyn FnMut() -> u64, suits_at: &dyn Fn(&usize) -> bool) -> Option<usize> {
        let suiting = || (0..self.places.len()).filter(|at| self.weights.weight(*at) > 0 && suits_at(at));
        let total: u64 = suiting().map(|at| self.weights.weight(at)).sum();
        let mut left = if total == 0 { return None } else { below(total, random()) };
        suiting().find(|at| {
            let weight = self.weights.weight(*at);
            let is_it = left < weight;
            left = left.saturating_sub(weight);
            is_it
        })
    }
}

/// Returns a number below this bound, made of any number.
fn below(bound: u64, random: u64) -> u64 {
    ((u128::from(random) * u128::from(bound)) >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raised_claim_gains_nothing() {
        let device = |name: &str, units| Device { agent: name.into(), units, condition: Condition::default() };
        let (mut fleet, slow) = (Fleet::default(), Symbol::new("slow"));
        ["slow", "one", "two"].iter().for_each(|name| fleet.join(device(name, 1_000)).unwrap());
        (0..DEVICE_SHOWN_ANSWERS_MIN).for_each(|_| fleet.note_shown(slow, 10.0));
        let shown = fleet.units(slow);
        assert!(shown.is_some_and(|units| units < 1_000), "{shown:?}");
        for units in [2_000, 500, 1_000] {
            fleet.join(device("slow", units)).unwrap();
            assert_eq!(fleet.units(slow), shown, "it claims {units}");
        }
    }
}
