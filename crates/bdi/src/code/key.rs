//! Keys of predicates.

use whimbrel_acl::{Structure, Symbol, Value, sym};

/// Key of a predicate: name, namespace, arity, negation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Key {
    /// Name.
    pub functor: Symbol,
    /// Namespace.
    pub namespace: Symbol,
    /// Number of arguments.
    pub arity: u16,
    /// Strong negation.
    pub negated: bool,
}

/// Most keys differ in their names: all parts are combined in one number, for one round of the hash.
impl std::hash::Hash for Key {
    #[inline]
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        state.write_u64(self.bits());
    }
}

impl Key {
    /// Returns a number that differs for nearly all keys that differ.
    #[inline]
    pub fn bits(&self) -> u64 {
        let other = self.namespace.index() ^ (u32::from(self.arity) << 16) ^ (u32::from(self.negated) << 31);
        (u64::from(self.functor.index()) << 32) | u64::from(other)
    }

    /// Returns the key of a structure.
    #[inline]
    pub fn of(term: &Structure) -> Self {
        Self { functor: term.functor, namespace: term.namespace, arity: term.args.len() as u16, negated: term.negated }
    }

    /// Returns the key of a literal value, if the value is a literal.
    pub fn of_value(value: &Value) -> Option<Self> {
        match value {
            Value::Term(term) => Some(Self::of(term)),
            other => Some(Self { functor: other.functor()?, namespace: sym::DEFAULT, arity: 0, negated: false }),
        }
    }
}
