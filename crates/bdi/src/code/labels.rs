//! Labels of plans: written ones, and those that unnamed plans get.

use whimbrel_acl::{Symbol, sym};

use crate::syntax::ast;

/// Returns the next generated label for a plan without one, after `count` others: Jason's `p__1`, `p__2`...
pub fn next_label(count: &mut u32, is_taken: impl Fn(Symbol) -> bool) -> Symbol {
    loop {
        *count += 1;
        let label = Symbol::new(&format!("p__{count}"));
        if !is_taken(label) {
            return label;
        }
    }
}

/// Returns true for a generated label, as unnamed plans get.
pub fn is_made_label(label: Symbol) -> bool {
    let number = label.as_str().strip_prefix("p__");
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Returns a plan's written label. A label that consists only of annotations does not count.
pub fn label_of(plan: &ast::Plan) -> Option<Symbol> {
    plan.label.as_ref().map(|label| label.functor).filter(|label| *label != sym::EMPTY)
}
