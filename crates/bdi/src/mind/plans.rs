//! The plan library: the program's plans, less those removed, plus those acquired, in order and indexed by trigger.

use std::borrow::Cow;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use whimbrel_acl::{Symbol, Value, sym};

use crate::code::compile::next_label;
use crate::code::{Head, Image, Key, Plan, TriggerKind, TriggerOp};

/// What triggers a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct TriggerKey {
    /// `+`, `-` or `^`.
    pub op: TriggerOp,
    /// Belief, achievement goal or test goal.
    pub kind: TriggerKind,
    /// The literal's key.
    pub key: Key,
}

impl std::hash::Hash for TriggerKey {
    #[inline]
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        state.write_u64(self.key.bits() ^ (self.op as u64) << 28 ^ (self.kind as u64) << 26);
    }
}

/// A plan, by its place: among the program's plans, or among those the agent acquired.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct PlanRef(pub u32);

const OWN: u32 = 1 << 31;

/// Candidate plans by trigger, in order. Plans whose trigger is a variable are candidates for all triggers of their kind.
#[derive(Clone, Debug, Default)]
pub struct PlanIndex {
    by_trigger: FxHashMap<TriggerKey, Listed>,
    any: FxHashMap<(TriggerOp, TriggerKind), SmallVec<[PlanRef; 1]>>,
}

/// The plans for one trigger.
#[derive(Clone, Debug)]
struct Listed {
    plans: SmallVec<[PlanRef; 2]>,
    /// Whether all that were ever listed are ordinary ones ([`Plan::is_ordinary`]).
    ordinary: bool,
}

impl PlanIndex {
    /// The plans for a trigger, in order, if there are any and all are ordinary ones.
    #[inline]
    pub fn ordinary_candidates(&self, trigger: &TriggerKey) -> Option<&[PlanRef]> {
        let listed = self.by_trigger.get(trigger)?;
        (listed.ordinary && !listed.plans.is_empty()).then_some(listed.plans.as_slice())
    }

    /// The plans for a trigger, in order.
    #[inline]
    pub fn candidates(&self, trigger: &TriggerKey) -> &[PlanRef] {
        match self.by_trigger.get(trigger) {
            Some(listed) => &listed.plans,
            None => self.any.get(&(trigger.op, trigger.kind)).map_or(&[], |plans| plans.as_slice()),
        }
    }

    /// Adds a plan, before the others or after them.
    pub fn add(&mut self, plan: &Plan, place: PlanRef, before: bool) {
        let kind = (plan.op, plan.kind);
        match &plan.head {
            Head::Literal { key, .. } => {
                let trigger = TriggerKey { op: plan.op, kind: plan.kind, key: *key };
                let for_any = self.any.get(&kind);
                let listed = self.by_trigger.entry(trigger).or_insert_with(|| Listed {
                    plans: for_any.into_iter().flatten().copied().collect(),
                    ordinary: for_any.is_none(),
                });
                listed.plans.put(place, before);
                listed.ordinary &= plan.is_ordinary;
            }
            Head::Any(_) => {
                self.any.entry(kind).or_default().put(place, before);
                let alike = self.by_trigger.iter_mut().filter(|(trigger, _)| (trigger.op, trigger.kind) == kind);
                for (_, listed) in alike {
                    listed.plans.put(place, before);
                    listed.ordinary = false;
                }
            }
        }
    }

    /// Has no plans counted as ordinary ones any more.
    pub fn hide_ordinary(&mut self) {
        self.by_trigger.values_mut().for_each(|listed| listed.ordinary = false);
    }

    fn replace(&mut self, old: PlanRef, new: PlanRef) {
        let by_trigger = self.by_trigger.values_mut().flat_map(|listed| listed.plans.iter_mut());
        let any = self.any.values_mut().flat_map(|plans| plans.iter_mut());
        for place in by_trigger.chain(any).filter(|place| **place == old) {
            *place = new;
        }
    }

    fn remove(&mut self, place: PlanRef) {
        self.by_trigger.retain(|_, listed| {
            listed.plans.retain(|other| *other != place);
            !listed.plans.is_empty()
        });
        self.any.retain(|_, plans| {
            plans.retain(|other| *other != place);
            !plans.is_empty()
        });
    }
}

trait Insert {
    fn put(&mut self, place: PlanRef, before: bool);
}

impl<A: smallvec::Array<Item = PlanRef>> Insert for SmallVec<A> {
    fn put(&mut self, place: PlanRef, before: bool) {
        if before { self.insert(0, place) } else { self.push(place) }
    }
}

/// One agent's plans. Costs nothing until the agent acquires or removes a plan.
#[derive(Clone, Debug, Default)]
pub struct PlanLibrary {
    changed: Option<Box<Changed>>,
    /// What was done since the last save, if the agent is saved at all.
    noted: Option<Vec<PlanChange>>,
}

/// Something done to a library that comes to the same when it is done again elsewhere.
#[derive(Clone, Debug)]
pub(crate) enum PlanChange {
    /// [`PlanLibrary::add`], with where the plan goes.
    Add(Arc<Plan>, bool),
    /// [`PlanLibrary::replace`]
    Replace(PlanRef, Arc<Plan>),
    /// [`PlanLibrary::remove`]
    Remove(PlanRef, bool),
    /// How far automatic labels have come.
    Labels(u32),
}

#[derive(Clone, Debug, Default)]
struct Changed {
    index: PlanIndex,
    /// All plans in order.
    order: Vec<PlanRef>,
    own: Vec<Option<Arc<Plan>>>,
    /// How far automatic labels have come.
    labels: u32,
}

/// A plan for as long as it is looked at.
#[derive(Clone, Debug)]
pub enum PlanHold<'m> {
    /// The program's.
    Shared(&'m Plan),
    /// One the agent acquired.
    Own(Arc<Plan>),
}

impl std::ops::Deref for PlanHold<'_> {
    type Target = Plan;

    #[inline]
    fn deref(&self) -> &Plan {
        match self {
            Self::Shared(plan) => plan,
            Self::Own(plan) => plan,
        }
    }
}

impl PlanLibrary {
    /// Whether it is the program's, nothing acquired or removed.
    #[inline]
    pub fn is_original(&self) -> bool {
        self.changed.is_none()
    }

    /// The plans that may be relevant for a trigger, in order.
    #[inline]
    pub fn candidates<'a>(&'a self, image: &'a Image, trigger: &TriggerKey) -> &'a [PlanRef] {
        match &self.changed {
            None => image.index.candidates(trigger),
            Some(changed) => changed.index.candidates(trigger),
        }
    }

    /// The same, to hold while the library may change.
    #[inline]
    pub fn candidates_held<'m>(&self, image: &'m Image, trigger: &TriggerKey) -> Cow<'m, [PlanRef]> {
        match &self.changed {
            None => Cow::Borrowed(image.index.candidates(trigger)),
            Some(changed) => Cow::Owned(changed.index.candidates(trigger).to_vec()),
        }
    }

    /// A plan by its place.
    #[inline]
    pub fn plan<'m>(&self, image: &'m Image, place: PlanRef) -> Option<PlanHold<'m>> {
        if place.0 & OWN == 0 {
            return image.plans.get(place.0 as usize).map(|plan| PlanHold::Shared(plan));
        }
        let own = self.changed.as_ref()?.own.get((place.0 & !OWN) as usize)?;
        own.clone().map(PlanHold::Own)
    }

    /// A plan, or the sub-plan of it that `path` leads to.
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

    /// All plans in order.
    pub fn all<'m>(&self, image: &'m Image) -> Vec<(PlanRef, PlanHold<'m>)> {
        let places: Vec<PlanRef> = match &self.changed {
            None => (0..image.plans.len() as u32).map(PlanRef).collect(),
            Some(changed) => changed.order.clone(),
        };
        places.into_iter().filter_map(|place| Some((place, self.plan(image, place)?))).collect()
    }

    /// The plan with this label; namespaces have labels of their own.
    pub fn labelled<'m>(&self, image: &'m Image, label: &Value) -> Option<(PlanRef, PlanHold<'m>)> {
        let wanted = (namespace_of(label), label.functor()?);
        self.all(image)
            .into_iter()
            .find(|(_, plan)| plan.label.functor() == Some(wanted.1) && namespace_of(&plan.label) == wanted.0)
    }

    fn change(&mut self, image: &Image) -> &mut Changed {
        self.changed.get_or_insert_with(|| {
            let order = (0..image.plans.len() as u32).map(PlanRef).collect();
            Box::new(Changed { index: image.index.clone(), order, own: Vec::new(), labels: image.labels })
        })
    }

    /// Acquires a plan, before all others or after them.
    pub fn add(&mut self, image: &Image, plan: Arc<Plan>, before: bool) -> PlanRef {
        self.note(|| PlanChange::Add(Arc::clone(&plan), before));
        let changed = self.change(image);
        let free = changed.own.iter().position(Option::is_none).unwrap_or(changed.own.len());
        let place = PlanRef(free as u32 | OWN);
        changed.index.add(&plan, place, before);
        changed.order.put_at(place, before);
        match changed.own.get_mut(free) {
            Some(slot) => *slot = Some(plan),
            None => changed.own.push(Some(plan)),
        }
        place
    }

    /// Puts a plan in the place of another, in the same order.
    pub fn replace(&mut self, image: &Image, place: PlanRef, plan: Arc<Plan>) -> PlanRef {
        self.note(|| PlanChange::Replace(place, Arc::clone(&plan)));
        let changed = self.change(image);
        changed.own.push(Some(plan));
        let new = PlanRef((changed.own.len() as u32 - 1) | OWN);
        for other in &mut changed.order {
            if *other == place {
                *other = new;
            }
        }
        changed.index.replace(place, new);
        new
    }

    /// Removes a plan from the library; intentions that run it go on, if `in_use` says so.
    pub fn remove(&mut self, image: &Image, place: PlanRef, in_use: bool) {
        self.note(|| PlanChange::Remove(place, in_use));
        let changed = self.change(image);
        changed.index.remove(place);
        changed.order.retain(|other| *other != place);
        if place.0 & OWN != 0
            && !in_use
            && let Some(slot) = changed.own.get_mut((place.0 & !OWN) as usize)
        {
            *slot = None;
        }
    }

    /// A label for a plan that came without one, distinct in this agent.
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

    /// Notes changes from now on.
    pub(crate) fn mark_saved(&mut self) {
        self.noted.get_or_insert_default().clear();
    }

    /// What was done since the last save, in order.
    pub(crate) fn changes(&self) -> &[PlanChange] {
        self.noted.as_ref().map_or(&[], |noted| noted.as_slice())
    }

    /// Does again what was done elsewhere.
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

    /// For a snapshot, if the agent acquired or removed plans: the order of all, the agent's own by place, and how far
    /// automatic labels have come.
    #[allow(clippy::type_complexity, reason = "three things with one reader")]
    pub fn acquired(&self) -> Option<(Vec<PlanRef>, &[Option<Arc<Plan>>], u32)> {
        self.changed.as_ref().map(|changed| (changed.order.clone(), changed.own.as_slice(), changed.labels))
    }

    /// Restores what [`Self::acquired`] told.
    pub fn restore(&mut self, image: &Image, order: Vec<PlanRef>, own: Vec<Option<Arc<Plan>>>, labels: u32) {
        let mut changed = Changed { index: PlanIndex::default(), order, own, labels };
        for place in changed.order.clone() {
            let plan = if place.0 & OWN == 0 {
                image.plans.get(place.0 as usize).cloned()
            } else {
                changed.own.get((place.0 & !OWN) as usize).cloned().flatten()
            };
            if let Some(plan) = plan {
                changed.index.add(&plan, place, false);
            }
        }
        self.changed = Some(Box::new(changed));
    }
}

/// The namespace of a label.
pub fn namespace_of(label: &Value) -> Symbol {
    match label {
        Value::Term(term) => term.namespace,
        _ => sym::DEFAULT,
    }
}

trait PutAt {
    fn put_at(&mut self, place: PlanRef, before: bool);
}

impl PutAt for Vec<PlanRef> {
    fn put_at(&mut self, place: PlanRef, before: bool) {
        if before { self.insert(0, place) } else { self.push(place) }
    }
}

impl TriggerKey {
    /// Whether both are goals of one predicate, pursued for themselves: one may take the other's place in a tail call.
    pub fn is_same_goal(&self, other: &Self) -> bool {
        let goals = self.kind != TriggerKind::Belief && other.kind != TriggerKind::Belief;
        goals && self.op == TriggerOp::Add && self.key == other.key
    }

    /// The trigger that a variable head stands for.
    pub fn any_key() -> Key {
        Key { functor: sym::ANY, namespace: sym::DEFAULT, arity: 0, negated: false }
    }
}
