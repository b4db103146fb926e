//! Triggers of plans as keys, and references to plans.

use whimbrel_acl::sym;

use super::{Key, TriggerKind, TriggerOp};

/// Key of a plan's trigger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct TriggerKey {
    /// `+`, `-` or `^`.
    pub op: TriggerOp,
    /// Belief, achievement goal or test goal.
    pub kind: TriggerKind,
    /// Key of the literal.
    pub key: Key,
}

impl std::hash::Hash for TriggerKey {
    #[inline]
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        state.write_u64(self.key.bits() ^ (self.op as u64) << 28 ^ (self.kind as u64) << 26);
    }
}

impl TriggerKey {
    /// Returns true if both are goals of one predicate, pursued for themselves: one may replace the other in a tail
    /// call.
    pub fn is_same_goal(&self, other: &Self) -> bool {
        let goals = self.kind != TriggerKind::Belief && other.kind != TriggerKind::Belief;
        goals && self.op == TriggerOp::Add && self.key == other.key
    }

    /// Returns the key that a variable head stands for.
    pub fn any_key() -> Key {
        Key { functor: sym::ANY, namespace: sym::DEFAULT, arity: 0, negated: false }
    }
}

/// Reference to a plan, by its place among the program's plans or among those the agent acquired.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct PlanRef(pub u32);
