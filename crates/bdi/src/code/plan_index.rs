//! Plan index: the candidates for an event, in order, by trigger and an argument that tells them apart.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use whimbrel_acl::Value;

use super::{CompiledPlan, Expr, Head, PlanRef, TriggerKey, TriggerKind, TriggerOp};
use crate::logic::constant_hash;

/// Number of plans for one trigger from which an argument tells them apart: the first one, or another one if that
/// many plans have the same constant there.
const INDEXED_FROM: usize = 8;

/// Number of plans without a constant in an indexed argument that a list may have: each is a candidate for every
/// constant.
const OPEN_MAX: usize = 8;

/// Number of arguments by which plans may be found.
const PLACES_MAX: usize = 8;

/// Empty list.
static NO_PLANS: PlanList =
    PlanList { plans: SmallVec::new_const(), constants: Vec::new(), indexes: Vec::new(), ordinary: false };

/// Candidate plans by trigger, in order. Plans whose trigger is a variable are candidates for all triggers of their
/// kind.
#[derive(Clone, Debug, Default)]
pub struct PlanIndex {
    by_trigger: FxHashMap<TriggerKey, Arc<PlanList>>,
    any: FxHashMap<(TriggerOp, TriggerKind), Arc<PlanList>>,
}

/// Plans for one trigger, in order.
#[derive(Clone, Debug)]
pub struct PlanList {
    plans: SmallVec<[PlanRef; 2]>,
    /// Constants among the arguments of each plan's trigger.
    constants: Vec<Constants>,
    indexes: Vec<ByConstant>,
    /// True if all plans that were ever in the list are ordinary ([`CompiledPlan::is_ordinary`]).
    ordinary: bool,
}

impl Default for PlanList {
    fn default() -> Self {
        Self { ordinary: true, ..NO_PLANS.clone() }
    }
}

/// Plans by a constant argument of their trigger.
#[derive(Clone, Debug, Default)]
struct ByConstant {
    /// Place of the argument.
    place: usize,
    /// Plans with each constant, and those without a constant, in order.
    lists: FxHashMap<Constant, Vec<PlanRef>>,
    /// Plans without a constant: candidates for other constants.
    open: Vec<PlanRef>,
}

/// Hash of a constant that is an argument of a trigger.
type Constant = u64;

/// Constants among the first arguments of a trigger, by place.
type Constants = SmallVec<[Option<Constant>; 1]>;

/// Returns the constants among the arguments of a plan's trigger.
fn constants_of(plan: &CompiledPlan) -> Constants {
    let Head::Literal { args, .. } = &plan.head else { return Constants::new() };
    let constant = |arg: &Option<Expr>| match arg {
        Some(Expr::Const(value)) => constant_hash(value),
        _ => None,
    };
    args.iter().take(PLACES_MAX).map(constant).collect()
}

/// Returns the constant in this place, if there is one.
fn constant_at(constants: &[Option<Constant>], place: usize) -> Option<Constant> {
    constants.get(place).copied().flatten()
}

impl PlanList {
    /// Returns all plans of the list.
    #[inline]
    pub fn all(&self) -> &[PlanRef] {
        &self.plans
    }

    /// Returns the plans that may be relevant for these arguments, and perhaps others.
    #[inline(always)]
    pub fn for_args(&self, args: &[Value]) -> &[PlanRef] {
        if self.indexes.is_empty() { &self.plans } else { self.find(args) }
    }

    #[inline(never)]
    fn find(&self, args: &[Value]) -> &[PlanRef] {
        let mut fewest: &[PlanRef] = &self.plans;
        for index in &self.indexes {
            let Some(constant) = args.get(index.place).and_then(constant_hash) else { continue };
            let found = index.lists.get(&constant).unwrap_or(&index.open);
            if found.len() < fewest.len() {
                fewest = found;
            }
            if fewest.len() < INDEXED_FROM {
                break;
            }
        }
        fewest
    }

    fn put(&mut self, place: PlanRef, constants: Constants, before: bool) {
        for index in &mut self.indexes {
            index.put(place, constant_at(&constants, index.place), before);
        }
        self.indexes.retain(|index| index.open.len() <= OPEN_MAX);
        let at = if before { 0 } else { self.plans.len() };
        self.plans.insert(at, place);
        self.constants.insert(at, constants);
        // Plans that cannot be told apart are tried again once there are twice as many.
        if self.plans.len() >= INDEXED_FROM && self.plans.len().is_power_of_two() {
            self.index();
        }
    }

    /// Makes indexes until one tells the plans apart.
    fn index(&mut self) {
        if self.indexes.iter().any(ByConstant::tells_apart) {
            return;
        }
        self.indexes.clear();
        for place in 0..PLACES_MAX {
            let open = self.constants.iter().filter(|constants| constant_at(constants, place).is_none());
            if open.count() > OPEN_MAX.min(self.plans.len() - 1) {
                continue;
            }
            let mut index = ByConstant { place, ..ByConstant::default() };
            for (plan, constants) in self.plans.iter().zip(&self.constants) {
                index.put(*plan, constant_at(constants, place), false);
            }
            let is_last = index.tells_apart();
            if index.lists.len() > 1 {
                self.indexes.push(index);
            }
            if is_last {
                break;
            }
        }
    }

    fn remove(&mut self, place: PlanRef) {
        let Some(at) = self.plans.iter().position(|other| *other == place) else { return };
        self.plans.remove(at);
        let constants = self.constants.remove(at);
        for index in &mut self.indexes {
            index.remove(place, constant_at(&constants, index.place));
        }
    }

    /// Replaces a plan by one with the same trigger.
    fn replace(&mut self, old: PlanRef, new: PlanRef) {
        let Some(at) = self.plans.iter().position(|other| *other == old) else { return };
        let exchange =
            |list: &mut [PlanRef]| list.iter_mut().filter(|place| **place == old).for_each(|place| *place = new);
        exchange(&mut self.plans);
        let constants = self.constants.get(at);
        for index in &mut self.indexes {
            let constant = constants.and_then(|constants| constant_at(constants, index.place));
            index.lists_of(constant).for_each(|list| exchange(list));
        }
    }
}

impl ByConstant {
    /// Returns true if few plans have the same constant.
    fn tells_apart(&self) -> bool {
        self.lists.values().all(|list| list.len() < INDEXED_FROM + self.open.len())
    }

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

    /// Returns the lists that a plan with this constant is in: all of them without a constant.
    fn lists_of(&mut self, constant: Option<Constant>) -> impl Iterator<Item = &mut Vec<PlanRef>> {
        let (one, all) = match constant {
            Some(constant) => (self.lists.get_mut(&constant), None),
            None => (Some(&mut self.open), Some(self.lists.values_mut())),
        };
        one.into_iter().chain(all.into_iter().flatten())
    }
}

impl PlanIndex {
    /// Returns the plans for a trigger, if there are any and all are ordinary.
    #[inline]
    pub fn ordinary_candidates(&self, trigger: &TriggerKey) -> Option<&PlanList> {
        let list = self.by_trigger.get(trigger)?;
        (list.ordinary && !list.plans.is_empty()).then_some(list)
    }

    /// Returns the plans for a trigger.
    #[inline]
    pub fn candidates(&self, trigger: &TriggerKey) -> &PlanList {
        self.list(trigger).map_or(&NO_PLANS, |list| list)
    }

    /// Returns the plans for a trigger, to hold while the index may change.
    pub fn candidates_held(&self, trigger: &TriggerKey) -> Arc<PlanList> {
        self.list(trigger).cloned().unwrap_or_default()
    }

    #[inline]
    fn list(&self, trigger: &TriggerKey) -> Option<&Arc<PlanList>> {
        self.by_trigger.get(trigger).or_else(|| self.any.get(&(trigger.op, trigger.kind)))
    }

    /// Adds a plan, before the others or after them.
    pub fn add(&mut self, plan: &CompiledPlan, place: PlanRef, before: bool) {
        let kind = (plan.op, plan.kind);
        if matches!(plan.head, Head::Any(_)) {
            Arc::make_mut(self.any.entry(kind).or_default()).put(place, Constants::new(), before);
        } else if let Some(trigger) = plan.trigger() {
            let for_any = self.any.get(&kind);
            self.by_trigger.entry(trigger).or_insert_with(|| {
                for_any
                    .map_or_else(Arc::default, |list| Arc::new(PlanList { ordinary: false, ..PlanList::clone(list) }))
            });
        }
        self.each_list(plan, |list| {
            list.put(place, constants_of(plan), before);
            list.ordinary &= plan.is_ordinary && matches!(plan.head, Head::Literal { .. });
        });
    }

    /// Stops treating any plans as ordinary ones.
    pub fn hide_ordinary(&mut self) {
        self.by_trigger.values_mut().for_each(|list| Arc::make_mut(list).ordinary = false);
    }

    /// Replaces a plan by one with the same trigger.
    pub fn replace(&mut self, plan: &CompiledPlan, old: PlanRef, new: PlanRef) {
        self.each_list(plan, |list| list.replace(old, new));
        if let Some(list) = self.any_list(plan) {
            list.replace(old, new);
        }
    }

    /// Removes a plan.
    pub fn remove(&mut self, plan: &CompiledPlan, place: PlanRef) {
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
    fn each_list(&mut self, plan: &CompiledPlan, mut change: impl FnMut(&mut PlanList)) {
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

    /// Returns the list of plans for any trigger, if a plan is among them.
    fn any_list(&mut self, plan: &CompiledPlan) -> Option<&mut PlanList> {
        let list = matches!(plan.head, Head::Any(_)).then(|| self.any.get_mut(&(plan.op, plan.kind)))?;
        list.map(Arc::make_mut)
    }
}

impl CompiledPlan {
    /// Returns the trigger of the plan; `None` if it is a variable.
    fn trigger(&self) -> Option<TriggerKey> {
        match &self.head {
            Head::Literal { key, .. } => Some(TriggerKey { op: self.op, kind: self.kind, key: *key }),
            Head::Any(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::{prop_assert, prop_assert_eq, proptest};

    use super::*;

    proptest! {
        #[test]
        fn constant_index_agrees_with_scan(
            changes: Vec<(u8, u8, bool, bool)>,
            open_each in 5..60_usize,
            firsts in 1..6_u8,
        ) {
            let (mut list, mut all) = (PlanList::default(), Vec::<(PlanRef, [Option<Value>; 2])>::new());
            for (at, (first, second, before, removes)) in changes.into_iter().cycle().take(300).enumerate() {
                let value = |number: u8, each: usize| (at % each != 0).then(|| Value::Num(f64::from(number)));
                let args = [value(first % firsts, open_each), value(second.wrapping_add(at as u8) % 40, open_each + 1)];
                let place = PlanRef(at as u32);
                list.put(place, args.iter().map(|arg| arg.as_ref().and_then(constant_hash)).collect(), before);
                let end = if before { 0 } else { all.len() };
                all.insert(end, (place, args));
                if removes && at % 3 == 0 {
                    let (place, _) = all.remove(usize::from(first) % all.len());
                    list.remove(place);
                } else if removes {
                    let (place, _) = &mut all[usize::from(first) % end.max(1)];
                    let new = PlanRef(place.0 + 1_000_000);
                    list.replace(*place, new);
                    *place = new;
                }
                for wanted in [[0, 0], [1, 7], [2, 39], [5, 40]].map(|pair| pair.map(f64::from).map(Value::Num)) {
                    let fits = |args: &[Option<Value>; 2]| {
                        args.iter().zip(&wanted).all(|(arg, wanted)| arg.as_ref().is_none_or(|arg| arg == wanted))
                    };
                    let expected = all.iter().filter(|(_, args)| fits(args)).map(|(place, _)| *place);
                    let known = |place: &PlanRef| all.iter().any(|(other, args)| other == place && fits(args));
                    let found = list.for_args(&wanted).iter().copied().filter(known);
                    prop_assert!(found.eq(expected), "{:?}", wanted);
                }
            }
        }

        #[test]
        fn second_argument_tells_plans_apart(count in 16..200_u32) {
            let constant = |number: u32| constant_hash(&Value::Num(f64::from(number)));
            let mut list = PlanList::default();
            (0..count).for_each(|number| list.put(PlanRef(number), [constant(0), constant(number)].into_iter().collect(), false));
            let wanted = [Value::Num(0.0), Value::Num(3.0)];
            prop_assert_eq!(list.for_args(&wanted), [PlanRef(3)].as_slice());
        }
    }
}
