//! Plans.

use whimbrel_acl::value::Bare;
use whimbrel_acl::{Annot, Symbol, Value, Var, sym};
use whimbrel_platform::inspection::{Inspection, PlanSeen, ProgramLine, Texts};
use whimbrel_platform::limits::INSPECTION_PLANS_MAX;

use super::breakpoints::is_marked;
use super::{Inspector, source_form};
use crate::code::{CompiledPlan, Image};
use crate::load::is_library;
use crate::logic::{is_source, namespace_of};
use crate::mind::Mind;
use crate::syntax::quote;

/// Name of a plan that does not change with the library: its label and the label's namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PlanName {
    namespace: Symbol,
    label: Symbol,
}

impl PlanName {
    pub fn of(plan: &CompiledPlan) -> Self {
        Self { namespace: namespace_of(&plan.label), label: plan.label.functor().unwrap_or_default() }
    }
}

impl std::fmt::Display for PlanName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.namespace != sym::DEFAULT {
            write!(f, "{}::", self.namespace)?;
        }
        self.label.fmt(f)
    }
}

/// Returns the names of all plans of an agent and their sub-plans, in order.
pub(crate) fn plan_names(image: &Image, mind: &Mind) -> Vec<PlanName> {
    let mut names = Vec::new();
    for (_, plan) in mind.plans.all(image) {
        each(&plan, &mut |plan| names.push(PlanName::of(plan)));
    }
    names
}

/// Returns true if a step of a plan of an agent begins in this line.
pub(crate) fn has_step(image: &Image, mind: &Mind, at: &ProgramLine) -> bool {
    let mut found = false;
    for (_, plan) in mind.plans.all(image) {
        each(&plan, &mut |plan| {
            let is_in_file = *plan.body.file == *at.file;
            found |= is_in_file && plan.body.sources.iter().any(|source| source.line == at.line);
        });
    }
    found
}

/// Visits a plan, then its sub-plans.
pub(super) fn each(plan: &CompiledPlan, see: &mut dyn FnMut(&CompiledPlan)) {
    see(plan);
    plan.sub_plans.iter().for_each(|plan| each(plan, see));
}

impl Inspector<'_> {
    pub(super) fn see_plans(&self, seen: &mut Inspection, texts: &mut Texts) {
        for (_, plan) in self.mind.plans.all(self.image) {
            if is_library(&plan.source.file) {
                continue;
            }
            each(&plan, &mut |plan| {
                if seen.plans.len() >= INSPECTION_PLANS_MAX || texts.is_full() {
                    seen.cut.plans += 1;
                } else {
                    seen.plans.push(self.plan(plan, texts));
                }
            });
        }
    }

    fn plan(&self, plan: &CompiledPlan, texts: &mut Texts) -> PlanSeen {
        let source = &plan.source;
        let mut var = |name: Symbol| Var { slot: 0, name };
        let trigger = quote::quote_trigger(&source.trigger, &mut var);
        let context = source.context.as_ref().map(|context| quote::quote(context, &mut var));
        let name = PlanName::of(plan);
        PlanSeen {
            label: texts.of(name),
            trigger: texts.of(Bare(&trigger)),
            context: context.map(|context| texts.of(context)).unwrap_or_default(),
            body: texts.of(source_form::body(&source.body)),
            source: acquired_from(plan).map(|from| texts.of(from)),
            file: source.file.to_string(),
            line: source.span.line,
            breakpoint: self.breakpoints.map_or_else(|| is_marked(plan), |breakpoints| breakpoints.is_at(plan)),
        }
    }
}

/// Returns the source of a plan that is not the program's.
fn acquired_from(plan: &CompiledPlan) -> Option<Value> {
    let source = plan.annots.iter().find(|annot| is_source(annot))?;
    Some(match source {
        Annot::Source(name) => Value::Atom(*name),
        other => other.to_value().args().first().cloned()?,
    })
}
