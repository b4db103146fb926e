//! Logic: variable bindings, unification, arithmetic, and the prover.

pub mod arith;
mod bindings;
pub mod levels;
mod shallow;
mod solve;
mod unify;
mod univ;

pub use bindings::{Bindings, Mark, close_gap, map_annots, map_vars, number_of, shift, variables};
pub(crate) use solve::open_slots;
pub use solve::{Found, Knowledge, Proof, Solver, key, open_value, relate};
pub use unify::{AnnotSubsets, are_apart, constant_hash, find_annot, match_annots};
pub(crate) use unify::{decorated, namespaced};
