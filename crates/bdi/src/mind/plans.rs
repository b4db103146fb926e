//! Plan library: the program's plans, less those removed, plus those acquired, in order.

use std::collections::BTreeSet;
use std::ops::Deref;
use std::sync::Arc;

use rustc_hash::FxHashSet;
use smallvec::SmallVec;
use whimbrel_acl::{Symbol, Value};

use crate::code::{CompiledPlan, Image, PlanIndex, PlanList, PlanNames, PlanRef, TriggerKey, label_key, next_label};
use crate::syntax::{ast, quote};

const OWN: u32 = 1 << 31;

/// Plans of one agent. They take no memory until the agent acquires or removes a plan.
#[derive(Clone, Debug, Default)]
pub struct PlanLibrary {
    changed: Option<Box<Changed>>,
    /// Changes since the last save, if the agent is saved at all.
    noted: Option<Vec<PlanChange>>,
}

/// Change of a library that can be repeated elsewhere.
#[derive(Clone, Debug)]
pub(crate) enum PlanChange {
    /// [`PlanLibrary::add`], with the place of the plan.
    Add(Arc<CompiledPlan>, bool),
    /// [`PlanLibrary::replace`]
    Replace(PlanRef, Arc<CompiledPlan>),
    /// [`PlanLibrary::remove`]
    Remove(PlanRef, bool),
    /// Number of generated labels.
    Labels(u32),
}

#[derive(Clone, Debug, Default)]
struct Changed {
    index: PlanIndex,
    /// All plans in order.
    order: Vec<PlanRef>,
    own: Vec<Option<Arc<CompiledPlan>>>,
    /// Free places among the agent's own plans.
    free: BTreeSet<u32>,
    /// The agent's own plans by label and by code.
    names: PlanNames,
    /// Plans of the program that are not in the library any more.
    gone: FxHashSet<PlanRef>,
    /// Number of generated labels.
    labels: u32,
}

/// Candidate plans while they are examined.
pub enum PlansHeld<'m> {
    /// Plans of the program.
    Shared(&'m PlanList),
    /// Plans of an agent that has acquired or removed some.
    Own(Arc<PlanList>),
}

impl Deref for PlansHeld<'_> {
    type Target = PlanList;

    #[inline]
    fn deref(&self) -> &PlanList {
        match self {
            Self::Shared(plans) => plans,
            Self::Own(plans) => plans,
        }
    }
}

/// Plan while it is examined.
#[derive(Clone, Debug)]
pub enum PlanHold<'m> {
    /// A plan of the program.
    Shared(&'m CompiledPlan),
    /// A plan that the agent acquired.
    Own(Arc<CompiledPlan>),
}

impl Deref for PlanHold<'_> {
    type Target = CompiledPlan;

    #[inline]
    fn deref(&self) -> &CompiledPlan {
        match self {
            Self::Shared(plan) => plan,
            Self::Own(plan) => plan,
        }
    }
}

impl PlanLibrary {
    /// Returns true if the library is the program's, with nothing acquired or removed.
    #[inline]
    pub fn is_original(&self) -> bool {
        self.changed.is_none()
    }

    /// Returns the plans that may be relevant for a trigger, in order.
    #[inline]
    pub fn candidates<'a>(&'a self, image: &'a Image, trigger: &TriggerKey) -> &'a PlanList {
        match &self.changed {
            None => image.index.candidates(trigger),
            Some(changed) => changed.index.candidates(trigger),
        }
    }

    /// Returns the plans that may be relevant for a trigger, to hold while the library may change.
    #[inline]
    pub fn candidates_held<'m>(&self, image: &'m Image, trigger: &TriggerKey) -> PlansHeld<'m> {
        match &self.changed {
            None => PlansHeld::Shared(image.index.candidates(trigger)),
            Some(changed) => PlansHeld::Own(changed.index.candidates_held(trigger)),
        }
    }

    /// Returns a plan by its place.
    #[inline]
    pub fn plan<'m>(&self, image: &'m Image, place: PlanRef) -> Option<PlanHold<'m>> {
        if place.0 & OWN == 0 {
            return image.plans.get(place.0 as usize).map(|plan| PlanHold::Shared(plan));
        }
        let own = self.changed.as_ref()?.own.get((place.0 & !OWN) as usize)?;
        own.clone().map(PlanHold::Own)
    }

    /// Returns a plan, or the sub-plan at `path`.
    #[inline]
    pub fn plan_at<'m>(&self, image: &'m Image, place: PlanRef, path: &[u32]) -> Option<PlanHold<'m>> {
        let mut plan = self.plan(image, place)?;
        for number in path {
            plan = match plan {
                PlanHold::Shared(plan) => PlanHold::Shared(plan.sub_plans.get(*number as usize)?),
                PlanHold::Own(plan) => PlanHold::Own(Arc::clone(plan.sub_plans.get(*number as usize)?)),
            };
        }
        Some(plan)
    }

    /// Returns all plans in order.
    pub fn all<'m>(&self, image: &'m Image) -> Vec<(PlanRef, PlanHold<'m>)> {
        let places: Vec<PlanRef> = match &self.changed {
            None => (0..image.plans.len() as u32).map(PlanRef).collect(),
            Some(changed) => changed.order.clone(),
        };
        places.into_iter().filter_map(|place| Some((place, self.plan(image, place)?))).collect()
    }

    /// Returns the plan with this label; namespaces have labels of their own.
    pub fn labelled<'m>(&self, image: &'m Image, label: &Value) -> Option<(PlanRef, PlanHold<'m>)> {
        let wanted = label_key(label)?;
        self.named(image, |names| names.by_label.get(&wanted)).next()
    }

    /// Returns the first plan with the same trigger, context and body.
    pub fn alike<'m>(&self, image: &'m Image, wanted: &ast::Plan) -> Option<(PlanRef, PlanHold<'m>)> {
        let hash = quote::plan_hash(wanted);
        self.named(image, |names| names.by_code.get(&hash)).find(|(_, plan)| quote::same_plan(&plan.source, wanted))
    }

    /// Returns the plans with a name: those of the program, then those that the agent acquired.
    fn named<'a, 'm: 'a>(
        &'a self,
        image: &'m Image,
        find: impl Fn(&'a PlanNames) -> Option<&'a SmallVec<[PlanRef; 1]>>,
    ) -> impl Iterator<Item = (PlanRef, PlanHold<'m>)> + 'a {
        let own = self.changed.as_ref().and_then(|changed| find(&changed.names));
        let places = find(image.names.of(&image.plans)).into_iter().chain(own).flatten().copied();
        let gone = |place: &PlanRef| self.changed.as_ref().is_some_and(|changed| changed.gone.contains(place));
        places.filter(move |place| !gone(place)).filter_map(|place| Some((place, self.plan(image, place)?)))
    }

    fn change(&mut self, image: &Image) -> &mut Changed {
        self.changed.get_or_insert_with(|| {
            let order = (0..image.plans.len() as u32).map(PlanRef).collect();
            Box::new(Changed { index: image.index.clone(), order, labels: image.labels, ..Changed::default() })
        })
    }

    /// Acquires a plan, before all others or after them.
    pub fn add(&mut self, image: &Image, plan: Arc<CompiledPlan>, before: bool) -> PlanRef {
        self.note(|| PlanChange::Add(Arc::clone(&plan), before));
        let changed = self.change(image);
        let free = changed.free.pop_first().unwrap_or(changed.own.len() as u32);
        let place = PlanRef(free | OWN);
        changed.index.add(&plan, place, before);
        changed.names.add(&plan, place);
        let at = if before { 0 } else { changed.order.len() };
        changed.order.insert(at, place);
        match changed.own.get_mut(free as usize) {
            Some(slot) => *slot = Some(plan),
            None => changed.own.push(Some(plan)),
        }
        place
    }

    /// Replaces a plan by another, in the same order.
    pub fn replace(&mut self, image: &Image, place: PlanRef, plan: Arc<CompiledPlan>) -> PlanRef {
        self.note(|| PlanChange::Replace(place, Arc::clone(&plan)));
        let known = self.plan(image, place);
        let changed = self.change(image);
        let new = PlanRef(changed.own.len() as u32 | OWN);
        if let Some(known) = known {
            changed.forget(&known, place);
            changed.index.replace(&plan, place, new);
        }
        changed.names.add(&plan, new);
        changed.own.push(Some(plan));
        changed.order.iter_mut().filter(|other| **other == place).for_each(|other| *other = new);
        new
    }

    /// Removes a plan from the library. With `in_use`, intentions that run it continue.
    pub fn remove(&mut self, image: &Image, place: PlanRef, in_use: bool) {
        self.note(|| PlanChange::Remove(place, in_use));
        let Some(known) = self.plan(image, place) else { return };
        let changed = self.change(image);
        changed.forget(&known, place);
        changed.index.remove(&known, place);
        changed.order.retain(|other| *other != place);
        if place.0 & OWN != 0
            && !in_use
            && let Some(slot) = changed.own.get_mut((place.0 & !OWN) as usize)
        {
            *slot = None;
            changed.free.insert(place.0 & !OWN);
        }
    }

    /// Returns a new label for a plan without one, distinct in this agent.
    pub fn fresh_label(&mut self, image: &Image) -> Symbol {
        let mut count = self.change(image).labels;
        let label = next_label(&mut count, |label| self.labelled(image, &Value::Atom(label)).is_some());
        self.change(image).labels = count;
        self.note(|| PlanChange::Labels(count));
        label
    }

    fn note(&mut self, change: impl FnOnce() -> PlanChange) {
        if let Some(noted) = &mut self.noted {
            noted.push(change());
        }
    }

    /// Starts to note changes.
    pub(crate) fn mark_saved(&mut self) {
        self.noted.get_or_insert_default().clear();
    }

    /// Returns the changes since the last save, in order.
    pub(crate) fn changes(&self) -> &[PlanChange] {
        self.noted.as_ref().map_or(&[], |noted| noted.as_slice())
    }

    /// Repeats a change that was made elsewhere.
    pub(crate) fn redo(&mut self, image: &Image, change: PlanChange) {
        match change {
            PlanChange::Add(plan, before) => {
                self.add(image, plan, before);
            }
            PlanChange::Replace(place, plan) => {
                self.replace(image, place, plan);
            }
            PlanChange::Remove(place, in_use) => self.remove(image, place, in_use),
            PlanChange::Labels(labels) => self.change(image).labels = labels,
        }
    }

    /// Returns the state for a snapshot, if the agent acquired or removed plans: the order of all, the agent's own by
    /// place, and the number of generated labels.
    #[allow(clippy::type_complexity, reason = "three things with one reader")]
    pub fn acquired(&self) -> Option<(Vec<PlanRef>, &[Option<Arc<CompiledPlan>>], u32)> {
        self.changed.as_ref().map(|changed| (changed.order.clone(), changed.own.as_slice(), changed.labels))
    }

    /// Restores the state that [`Self::acquired`] returned.
    pub fn restore(&mut self, image: &Image, order: Vec<PlanRef>, own: Vec<Option<Arc<CompiledPlan>>>, labels: u32) {
        let free = (0..).zip(&own).filter(|(_, plan)| plan.is_none()).map(|(place, _)| place).collect();
        let gone = (0..image.plans.len() as u32).map(PlanRef).collect();
        let mut changed = Changed { order, own, labels, free, gone, ..Changed::default() };
        for place in changed.order.clone() {
            let plan = if place.0 & OWN == 0 {
                changed.gone.remove(&place);
                image.plans.get(place.0 as usize).cloned()
            } else {
                changed.own.get((place.0 & !OWN) as usize).cloned().flatten()
            };
            let Some(plan) = plan else { continue };
            changed.index.add(&plan, place, false);
            if place.0 & OWN != 0 {
                changed.names.add(&plan, place);
            }
        }
        self.changed = Some(Box::new(changed));
    }
}

impl Changed {
    /// Drops a plan from the names.
    fn forget(&mut self, plan: &CompiledPlan, place: PlanRef) {
        if place.0 & OWN == 0 {
            self.gone.insert(place);
        } else {
            self.names.remove(plan, place);
        }
    }
}
