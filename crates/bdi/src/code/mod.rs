//! Compiled programs: plans, rules and formulas with variables turned into slots, shared by all agents of a program.

mod asking;
pub mod compile;
mod expr;
mod hint;
mod image;
mod internal_action;
mod key;
mod labels;
mod plan;
mod plan_index;
mod plan_names;
mod site;
mod trigger;

pub use crate::syntax::ast::{TriggerKind, TriggerOp};
pub use expr::{
    ArithExpr, CallExpr, ChainExpr, CompiledRule, Expr, Formula, Function, FunctionExpr, RelationExpr, TermExpr,
};
pub use hint::Hint;
pub use image::Image;
#[cfg(test)]
pub(crate) use internal_action::IN_FORMULAS;
pub use internal_action::{InternalAction, acts_in_formulas, formula_place};
pub use key::Key;
pub use labels::{is_made_label, label_of, next_label};
pub use plan::{AddMode, BodyOp, CompiledBody, CompiledPlan, Head, PlainStep, SendExpr, Source};
pub use plan_index::{PlanIndex, PlanList};
pub(crate) use plan_names::label_key;
pub use plan_names::{ImageNames, PlanNames};
pub use site::{Plans, Site};
pub use trigger::{PlanRef, TriggerKey};
