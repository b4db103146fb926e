//! Code as data: the syntax tree as values, and back.

/// Functors no program can write: code and special variables as data.
pub mod reserved {
    use whimbrel_acl::{Symbol, sym};

    /// A variable with something around it: `$var(Variable, Namespace, Negated, Annotations)`.
    pub const DECORATED: Symbol = sym::CODE_VAR;
}
