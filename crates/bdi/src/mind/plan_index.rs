//! Index of plans: the candidates for an event, in order, by trigger and first argument.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use whimbrel_acl::Value;

use super::{PlanRef, TriggerKey};
use crate::code::{Expr, Head, Plan, TriggerKind, TriggerOp};
use crate::logic::constant_hash;

/// Number of plans for one trigger from which they are found by first argument.
const INDEXED_FROM: usize = 8;

/// Plans whose first argument is no constant in a list that is indexed by it: each of them is a candidate for every
/// constant.
const OPEN_MAX: usize = 8;

/// No plans.
static NO_PLANS: PlanList =
    PlanList { plans: SmallVec::new_const(), constants: Vec::new(), by_constant: None, ordinary: false };

/// Candidate plans by trigger, in order. Plans whose trigger is a variable are candidates for all triggers of their kind.
#[derive(Clone, Debug, Default)]
pub struct PlanIndex {
    by_trigger: FxHashMap<TriggerKey, Arc<PlanList>>,
    any: FxHashMap<(TriggerOp, TriggerKind), Arc<PlanList>>,
}

/// Plans for one trigger, in order.
#[derive(Clone, Debug)]
pub struct PlanList {
    plans: SmallVec<[PlanRef; 2]>,
    /// The first argument of each plan's trigger, if it is a constant.
    constants: Vec<Option<Constant>>,
    by_constant: Option<Box<ByConstant>>,
    /// True if all plans that were ever in the list are ordinary ([`Plan::is_ordinary`]).
    ordinary: bool,
}

impl Default for PlanList {
    fn default() -> Self {
        Self { ordinary: true, ..NO_PLANS.clone() }
    }
}

/// Plans by the constant that is the first argument of their trigger.
#[derive(Clone, Debug, Default)]
struct ByConstant {
    /// For each constant the plans that have it, and those whose first argument is none, in order.
    lists: FxHashMap<Constant, Vec<PlanRef>>,
    /// The plans whose first argument is no constant: candidates for other constants.
    open: Vec<PlanRef>,
}

/// The hash of a constant that is the first argument of a trigger.
type Constant = u64;

/// The first argument of a plan's trigger, if it is a constant.
fn first_constant(plan: &Plan) -> Option<Constant> {
    let Head::Literal { args, .. } = &plan.head else { return None };
    match args.first()? {
        Some(Expr::Const(value)) => constant_hash(value),
        _ => None,
    }
}

impl PlanList {
    /// Returns all plans of the list.
    #[inline]
    pub fn all(&self) -> &[PlanRef] {
        &self.plans
    }

    /// Returns the plans that may be relevant for these arguments, and perhaps others.
    #[inline]
    pub fn for_args(&self, args: &[Value]) -> &[PlanRef] {
        match &self.by_constant {
            None => &self.plans,
            Some(index) => match args.first().and_then(constant_hash) {
                None => &self.plans,
                Some(constant) => index.lists.get(&constant).unwrap_or(&index.open),
            },
        }
    }

    fn put(&mut self, place: PlanRef, constant: Option<Constant>, before: bool) {
        if let Some(index) = &mut self.by_constant {
            index.put(place, constant, before);
        }
        let at = if before { 0 } else { self.plans.len() };
        self.plans.insert(at, place);
        self.constants.insert(at, constant);
        match &self.by_constant {
            Some(index) if index.open.len() > OPEN_MAX => self.by_constant = None,
            // What cannot be indexed is tried again once there are twice as many.
            None if self.plans.len() >= INDEXED_FROM && self.plans.len().is_power_of_two() => self.index(),
            _ => {}
        }
    }

    fn index(&mut self) {
        if self.constants.iter().filter(|constant| constant.is_none()).count() > OPEN_MAX {
            return;
        }
        let mut index = ByConstant::default();
        for (place, constant) in self.plans.iter().zip(&self.constants) {
            index.put(*place, *constant, false);
        }
        self.by_constant = Some(Box::new(index));
    }

    fn remove(&mut self, place: PlanRef) {
        let Some(at) = self.plans.iter().position(|other| *other == place) else { return };
        self.plans.remove(at);
        let constant = self.constants.remove(at);
        if let Some(index) = &mut self.by_constant {
            index.remove(place, constant);
        }
    }

    /// Puts a plan with the same trigger in the place of another.
    fn replace(&mut self, old: PlanRef, new: PlanRef) {
        let Some(at) = self.plans.iter().position(|other| *other == old) else { return };
        let exchange =
            |list: &mut [PlanRef]| list.iter_mut().filter(|place| **place == old).for_each(|place| *place = new);
        exchange(&mut self.plans);
        if let Some(index) = &mut self.by_constant {
            index.lists_of(self.constants.get(at).copied().flatten()).for_each(|list| exchange(list));
        }
    }
}

impl ByConstant {
    fn put(&mut self, place: PlanRef, constant: Option<Constant>, before: bool) {
        if let Some(constant) = constant.filter(|constant| !self.lists.contains_key(constant)) {
            self.lists.insert(constant, self.open.clone());
        }
        let at = |list: &Vec<PlanRef>| if before { 0 } else { list.len() };
        self.lists_of(constant).for_each(|list| list.insert(at(list), place));
    }

    fn remove(&mut self, place: PlanRef, constant: Option<Constant>) {
        self.lists_of(constant).for_each(|list| list.retain(|other| *other != place));
        if let Some(constant) = constant.filter(|constant| self.lists.get(constant) == Some(&self.open)) {
            self.lists.remove(&constant);
        }
    }

    /// The lists that a plan with this constant is in: all of them if its first argument is none.
    fn lists_of(&mut self, constant: Option<Constant>) -> impl Iterator<Item = &mut Vec<PlanRef>> {
        let (one, all) = match constant {
            Some(constant) => (self.lists.get_mut(&constant), None),
            None => (Some(&mut self.open), Some(self.lists.values_mut())),
        };
        one.into_iter().chain(all.into_iter().flatten())
    }
}

impl PlanIndex {
    /// Plans for a trigger, if there are any and all are ordinary.
    #[inline]
    pub fn ordinary_candidates(&self, trigger: &TriggerKey) -> Option<&PlanList> {
        let list = self.by_trigger.get(trigger)?;
        (list.ordinary && !list.plans.is_empty()).then_some(list)
    }

    /// Plans for a trigger.
    #[inline]
    pub fn candidates(&self, trigger: &TriggerKey) -> &PlanList {
        self.list(trigger).map_or(&NO_PLANS, |list| list)
    }

    /// Plans for a trigger, to hold while the index may change.
    pub fn candidates_held(&self, trigger: &TriggerKey) -> Arc<PlanList> {
        self.list(trigger).cloned().unwrap_or_default()
    }

    #[inline]
    fn list(&self, trigger: &TriggerKey) -> Option<&Arc<PlanList>> {
        self.by_trigger.get(trigger).or_else(|| self.any.get(&(trigger.op, trigger.kind)))
    }

    /// Adds a plan, before the others or after them.
    pub fn add(&mut self, plan: &Plan, place: PlanRef, before: bool) {
        let kind = (plan.op, plan.kind);
        if matches!(plan.head, Head::Any(_)) {
            Arc::make_mut(self.any.entry(kind).or_default()).put(place, None, before);
        } else if let Some(trigger) = plan.trigger() {
            let for_any = self.any.get(&kind);
            self.by_trigger.entry(trigger).or_insert_with(|| {
                for_any
                    .map_or_else(Arc::default, |list| Arc::new(PlanList { ordinary: false, ..PlanList::clone(list) }))
            });
        }
        self.each_list(plan, |list| {
            list.put(place, first_constant(plan), before);
            list.ordinary &= plan.is_ordinary && matches!(plan.head, Head::Literal { .. });
        });
    }

    /// Counts no plans as ordinary ones any more.
    pub fn hide_ordinary(&mut self) {
        self.by_trigger.values_mut().for_each(|list| Arc::make_mut(list).ordinary = false);
    }

    /// Puts a plan with the same trigger in the place of another.
    pub fn replace(&mut self, plan: &Plan, old: PlanRef, new: PlanRef) {
        self.each_list(plan, |list| list.replace(old, new));
        if let Some(list) = self.any_list(plan) {
            list.replace(old, new);
        }
    }

    /// Removes a plan.
    pub fn remove(&mut self, plan: &Plan, place: PlanRef) {
        self.each_list(plan, |list| list.remove(place));
        if let Some(list) = self.any_list(plan) {
            list.remove(place);
        }
        match plan.trigger() {
            Some(trigger) => {
                if self.by_trigger.get(&trigger).is_some_and(|list| list.plans.is_empty()) {
                    self.by_trigger.remove(&trigger);
                }
            }
            None => {
                self.by_trigger.retain(|_, list| !list.plans.is_empty());
                self.any.retain(|_, list| !list.plans.is_empty());
            }
        }
    }

    /// Changes the list of each trigger that a plan is for.
    fn each_list(&mut self, plan: &Plan, mut change: impl FnMut(&mut PlanList)) {
        match plan.trigger() {
            Some(trigger) => {
                if let Some(list) = self.by_trigger.get_mut(&trigger) {
                    change(Arc::make_mut(list));
                }
            }
            None => {
                let kind = (plan.op, plan.kind);
                let alike = self.by_trigger.iter_mut().filter(|(trigger, _)| (trigger.op, trigger.kind) == kind);
                alike.for_each(|(_, list)| change(Arc::make_mut(list)));
            }
        }
    }

    /// The list of plans for any trigger, if a plan is among them.
    fn any_list(&mut self, plan: &Plan) -> Option<&mut PlanList> {
        let list = matches!(plan.head, Head::Any(_)).then(|| self.any.get_mut(&(plan.op, plan.kind)))?;
        list.map(Arc::make_mut)
    }
}

impl Plan {
    /// Trigger of the plan; none if it is a variable.
    fn trigger(&self) -> Option<TriggerKey> {
        match &self.head {
            Head::Literal { key, .. } => Some(TriggerKey { op: self.op, kind: self.kind, key: *key }),
            Head::Any(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::{prop_assert_eq, proptest};

    use super::*;

    proptest! {
        #[test]
        fn plans_for_a_constant_are_those_of_a_scan(changes: Vec<(u8, bool, bool)>, open_each in 5..60_usize) {
            let (mut list, mut all) = (PlanList::default(), Vec::<(PlanRef, Option<Value>)>::new());
            for (at, (constant, before, removes)) in changes.into_iter().enumerate() {
                let value = (at % open_each != 0).then(|| Value::Num(f64::from(constant % 5)));
                let place = PlanRef(at as u32);
                list.put(place, value.as_ref().and_then(constant_hash), before);
                let end = if before { 0 } else { all.len() };
                all.insert(end, (place, value));
                if removes && at % 3 == 0 {
                    let (place, _) = all.remove(usize::from(constant) % all.len());
                    list.remove(place);
                } else if removes {
                    let (place, _) = &mut all[usize::from(constant) % end.max(1)];
                    let new = PlanRef(place.0 + 1_000_000);
                    list.replace(*place, new);
                    *place = new;
                }
                for wanted in (0..6).map(f64::from).map(Value::Num) {
                    let may_fit = |(_, value): &&(PlanRef, Option<Value>)| value.as_ref().is_none_or(|value| *value == wanted);
                    let expected: Vec<PlanRef> = all.iter().filter(may_fit).map(|(place, _)| *place).collect();
                    let found = list.for_args(std::slice::from_ref(&wanted));
                    match list.by_constant {
                        Some(_) => prop_assert_eq!(found, expected.as_slice()),
                        None => prop_assert_eq!(found, list.all()),
                    }
                }
            }
        }
    }
}
