//! Which formulas and operations ask what others have told the platform: who offers what, who is in a group, or who subscribes.

use super::{CallExpr, Formula, Image, Op};

/// The internal actions that ask so, or whose messages go to whoever has told so.
const ASKING: [&str; 5] = [".df_search", ".group_members", ".publish", ".multicast", ".anycast"];

/// Whether an internal action asks what others have told the platform.
pub(super) fn asks(action: &str) -> bool {
    ASKING.contains(&action)
}

impl Image {
    /// Whether a formula may ask what others have told the platform, by its rules, too.
    pub fn may_ask(&self, formula: &Formula) -> bool {
        formula.asks(self.rules.iter().any(|(_, rule)| rule.body.asks(false)))
    }

    /// The same of an operation.
    pub fn may_ask_by(&self, op: &Op) -> bool {
        match op {
            Op::Call(call) => call.asks(false),
            Op::Test(formula, _)
            | Op::Constraint(formula)
            | Op::If(formula, _)
            | Op::While(formula, _)
            | Op::For(formula, _) => self.may_ask(formula),
            _ => false,
        }
    }
}

impl Formula {
    fn asks(&self, rules_ask: bool) -> bool {
        match self {
            Self::Call(call) => call.asks(rules_ask),
            Self::And(formulas) | Self::Or(formulas) => formulas.iter().any(|formula| formula.asks(rules_ask)),
            Self::Not(formula) => formula.asks(rules_ask),
            Self::Query(_) => rules_ask,
            Self::True | Self::False | Self::Relation(_) | Self::Dynamic(_) => false,
        }
    }
}

impl CallExpr {
    fn asks(&self, rules_ask: bool) -> bool {
        asks(self.name.as_str()) || self.formulas.iter().flatten().any(|formula| formula.asks(rules_ask))
    }
}
