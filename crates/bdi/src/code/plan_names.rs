//! Plans by label and by code.

use std::sync::{Arc, OnceLock};

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use whimbrel_acl::{Symbol, Value};

use super::{CompiledPlan, PlanRef};
use crate::logic::namespace_of;
use crate::syntax::quote;

/// Plans by label and by code.
#[derive(Clone, Debug, Default)]
pub struct PlanNames {
    /// Plans by namespace and name of the label.
    pub(crate) by_label: FxHashMap<(Symbol, Symbol), SmallVec<[PlanRef; 1]>>,
    /// Plans by [hash of the code](quote::plan_hash).
    pub(crate) by_code: FxHashMap<u64, SmallVec<[PlanRef; 1]>>,
}

/// Names of a program's plans, made when a plan is first looked up by name.
#[derive(Clone, Debug, Default)]
pub struct ImageNames(OnceLock<PlanNames>);

impl ImageNames {
    pub(crate) fn of(&self, plans: &[Arc<CompiledPlan>]) -> &PlanNames {
        self.0.get_or_init(|| {
            let mut names = PlanNames::default();
            (0..).zip(plans).for_each(|(number, plan)| names.add(plan, PlanRef(number)));
            names
        })
    }
}

impl PlanNames {
    pub(crate) fn add(&mut self, plan: &CompiledPlan, place: PlanRef) {
        if let Some(label) = label_key(&plan.label) {
            self.by_label.entry(label).or_default().push(place);
        }
        self.by_code.entry(quote::plan_hash(&plan.source)).or_default().push(place);
    }

    pub(crate) fn remove(&mut self, plan: &CompiledPlan, place: PlanRef) {
        if let Some(label) = label_key(&plan.label) {
            drop_place(&mut self.by_label, &label, place);
        }
        drop_place(&mut self.by_code, &quote::plan_hash(&plan.source), place);
    }
}

fn drop_place<K: Eq + std::hash::Hash>(map: &mut FxHashMap<K, SmallVec<[PlanRef; 1]>>, key: &K, place: PlanRef) {
    let Some(places) = map.get_mut(key) else { return };
    places.retain(|other| *other != place);
    if places.is_empty() {
        map.remove(key);
    }
}

pub(crate) fn label_key(label: &Value) -> Option<(Symbol, Symbol)> {
    Some((namespace_of(label), label.functor()?))
}
