//! Platform queries: formulas and operations that depend on other agents' services, groups and subscriptions.

use super::{BodyOp, CallExpr, Formula, Image};

/// Internal actions that query such registrations, or send to the agents that made them.
const ASKING: [&str; 5] = [".df_search", ".group_members", ".publish", ".multicast", ".anycast"];

/// Returns true if an internal action queries the platform.
pub(super) fn asks(action: &str) -> bool {
    ASKING.contains(&action)
}

impl Image {
    /// Returns true if a formula may query the platform, itself or through a rule.
    pub fn may_ask(&self, formula: &Formula) -> bool {
        formula.asks(self.has_asking_rule())
    }

    fn has_asking_rule(&self) -> bool {
        self.rules.iter().any(|(_, rule)| rule.body.asks(false))
    }

    /// Returns true if an operation may query the platform.
    pub fn may_ask_by(&self, op: &BodyOp) -> bool {
        match op {
            BodyOp::Call(call) => call.asks(self.has_asking_rule()),
            BodyOp::Test(formula, _)
            | BodyOp::Constraint(formula)
            | BodyOp::If(formula, _)
            | BodyOp::While(formula, _)
            | BodyOp::For(formula, _) => self.may_ask(formula),
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
