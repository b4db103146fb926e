//! The devices that there are, and which one is next.
//!
//! What a device can do it says itself. So it counts for no more than so many times what the median of the others says
//! ([`DEVICE_UNITS_OVER_MEDIAN_MAX`](crate::limits::DEVICE_UNITS_OVER_MEDIAN_MAX)), and for less if it has shown less ([`Fleet::note_shown`]).

use rustc_hash::FxHashMap;
use whimbrel_acl::Symbol;

use super::claims::Claims;
use super::condition::Condition;
use super::weights::Weights;
use crate::limits::{
    DEVICE_OVERDUE_MAX, DEVICE_SHOWN_ANSWERS_MIN, DEVICE_SHOWN_TOLERANCE, DEVICE_UNITS_MAX, DEVICE_WRONG_MAX,
    DEVICES_MAX, DEVICES_REMEMBERED_MAX,
};

/// How often a device is drawn that does not suit, before they are gone through one by one.
const DRAWS_MAX: usize = 8;

/// A device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Device {
    /// The agent that speaks for it.
    pub agent: Symbol,
    /// What it can do, in compute units, as it measured when it joined or later: 1 to [`DEVICE_UNITS_MAX`].
    pub units: u32,
    /// How it is doing.
    pub condition: Condition,
}

/// Why a device is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FleetError {
    /// There are as many as there may be.
    #[error("{DEVICES_MAX} devices are the most")]
    TooMany,
    /// It says that it can do nothing, or more than can be.
    #[error("{0} compute units: 1 to {DEVICE_UNITS_MAX} are expected")]
    Units(u32),
}

#[derive(Debug)]
struct Place {
    device: Device,
    /// How much it is doing.
    taken: u32,
    /// How it did so far.
    record: Record,
    shown: Shown,
}

/// How a device did so far.
#[derive(Clone, Copy, Debug, Default)]
struct Record {
    wrong: u32,
    overdue_in_a_row: u32,
}

/// How many times more than others a device takes for what it has done, if what it says it can do were so; of late.
#[derive(Clone, Copy, Debug)]
struct Shown {
    times: f64,
    answers: u32,
}

impl Default for Shown {
    fn default() -> Self {
        Self { times: 1.0, answers: 0 }
    }
}

impl Shown {
    fn note(&mut self, times: f64) {
        self.answers = self.answers.saturating_add(1);
        // The newest count most; the first ones are not lost in what was assumed before.
        let share = (1.0 / f64::from(self.answers)).max(0.2);
        self.times += (times - self.times) * share;
    }

    /// What of these compute units it has shown.
    fn of(self, units: u32) -> u32 {
        if self.answers < DEVICE_SHOWN_ANSWERS_MIN || self.times <= DEVICE_SHOWN_TOLERANCE {
            return units;
        }
        ((f64::from(units) * DEVICE_SHOWN_TOLERANCE / self.times) as u32).max(1)
    }
}

impl Record {
    /// Whether it is given nothing any more.
    fn is_shunned(&self) -> bool {
        self.wrong >= DEVICE_WRONG_MAX || self.overdue_in_a_row >= DEVICE_OVERDUE_MAX
    }
}

impl Place {
    /// What its compute units count for, if those of others let it have no more than `most`.
    fn units(&self, most: u32) -> u32 {
        self.shown.of(self.device.units).min(most)
    }

    fn weight(&self, most: u32) -> u32 {
        let is_free = !self.record.is_shunned() && self.taken < self.device.condition.places();
        if is_free { self.device.condition.units_of(self.units(most)) } else { 0 }
    }
}

/// See the module. Devices are known by the agents that speak for them.
///
/// Of devices that have room, each is chosen as often as its share of all their compute units says.
#[derive(Debug, Default)]
pub struct Fleet {
    places: Vec<Option<Place>>,
    weights: Weights,
    /// What they say they can do, and the most that counted when the weights of those that say more were made.
    claims: Claims,
    most: u32,
    by_agent: FxHashMap<Symbol, usize>,
    empty: Vec<usize>,
    /// Of devices that were wrong, as long as they are away: they do not come back as if nothing had been.
    remembered: FxHashMap<Symbol, Record>,
}

impl Fleet {
    /// How many devices there are.
    pub fn len(&self) -> usize {
        self.by_agent.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.by_agent.is_empty()
    }

    /// The compute units of those that have room.
    pub fn units_free(&self) -> u64 {
        self.weights.total()
    }

    /// Takes a device, or hears that one is doing otherwise than before. What it is doing it goes on with.
    ///
    /// # Errors
    /// There are too many, or what it says it can do cannot be.
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
            *place = Some(Place { device, taken: 0, record, shown: Shown::default() });
        }
        self.by_agent.insert(device.agent, at);
        self.claims.add(device.units);
        self.change(at, |_| ());
        self.bound();
        Ok(())
    }

    /// Gives those that say much the weight that they may have now, if that is another one than before.
    fn bound(&mut self) {
        let most = self.claims.most();
        let before = std::mem::replace(&mut self.most, most);
        if before == most {
            return;
        }
        // The others' weights do not depend on it.
        let least = before.min(most);
        for at in 0..self.places.len() {
            if self.places.get(at).and_then(Option::as_ref).is_some_and(|place| place.device.units > least) {
                self.change(at, |_| ());
            }
        }
    }

    /// What a device's compute units count for, its condition aside.
    pub fn units(&self, agent: Symbol) -> Option<u32> {
        self.place(agent).map(|place| place.units(self.claims.most_beside(place.device.units)))
    }

    /// A device took so many times what others take for the same, if all can do what they say.
    pub(super) fn note_shown(&mut self, agent: Symbol, times: f64) {
        if let Some(&at) = self.by_agent.get(&agent) {
            self.change(at, |place| place.shown.note(times));
        }
    }

    /// It is gone, with all that it was doing. Whether it was there.
    pub fn leave(&mut self, agent: Symbol) -> bool {
        let Some(at) = self.by_agent.remove(&agent) else { return false };
        let left = self.places.get_mut(at).and_then(Option::take);
        if let Some(left) = &left {
            self.claims.remove(left.device.units);
        }
        if let Some(Place { record, .. }) = left.filter(|left| left.record.wrong > 0) {
            if self.remembered.len() >= DEVICES_REMEMBERED_MAX {
                self.remembered.clear();
            }
            self.remembered.insert(agent, Record { overdue_in_a_row: 0, ..record });
        }
        self.weights.set(at, 0);
        self.empty.push(at);
        self.bound();
        true
    }

    /// A device.
    pub fn device(&self, agent: Symbol) -> Option<&Device> {
        self.place(agent).map(|place| &place.device)
    }

    /// How much a device is doing.
    pub fn taken(&self, agent: Symbol) -> u32 {
        self.place(agent).map_or(0, |place| place.taken)
    }

    /// Whether a device is given nothing any more, for what it did so far.
    pub fn is_shunned(&self, agent: Symbol) -> bool {
        self.place(agent).is_some_and(|place| place.record.is_shunned())
    }

    /// All of them, in no particular order.
    pub fn devices(&self) -> impl Iterator<Item = &Device> {
        self.places.iter().flatten().map(|place| &place.device)
    }

    /// It said something that others, who are believed, did not.
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

    /// It did not bring something back in time.
    pub(super) fn note_overdue(&mut self, agent: Symbol) {
        if let Some(&at) = self.by_agent.get(&agent) {
            self.change(at, |place| place.record.overdue_in_a_row += 1);
        }
    }

    /// It brought something back.
    pub(super) fn note_in_time(&mut self, agent: Symbol) {
        if let Some(&at) = self.by_agent.get(&agent) {
            self.change(at, |place| place.record.overdue_in_a_row = 0);
        }
    }

    /// One that has room and suits, and has one place less now. `random` gives any numbers, all alike.
    pub fn choose(&mut self, random: &mut dyn FnMut() -> u64, suits: &dyn Fn(Symbol) -> bool) -> Option<Symbol> {
        let at = self.draw(random, suits)?;
        self.change(at, |place| place.taken += 1);
        self.places.get(at)?.as_ref().map(|place| place.device.agent)
    }

    /// It has finished something, well or not, and has room again.
    pub fn release(&mut self, agent: Symbol) {
        if let Some(&at) = self.by_agent.get(&agent) {
            self.change(at, |place| place.taken = place.taken.saturating_sub(1));
        }
    }

    fn place(&self, agent: Symbol) -> Option<&Place> {
        self.places.get(*self.by_agent.get(&agent)?)?.as_ref()
    }

    fn change(&mut self, at: usize, change: impl FnOnce(&mut Place)) {
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

    /// When most do not suit: among those that do, by a walk along all.
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

/// A number below this one, made of any.
fn below(bound: u64, random: u64) -> u64 {
    ((u128::from(random) * u128::from(bound)) >> 64) as u64
}
