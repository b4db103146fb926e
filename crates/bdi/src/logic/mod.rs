//! Logic: variable bindings, unification, arithmetic, and the prover.

mod annot_ways;
pub mod arith;
mod bindings;
pub mod levels;
mod numbering;
mod shallow;
mod solve;
mod unify;
mod univ;

pub use annot_ways::{AnnotWays, match_ground_annots};
pub use bindings::{Bindings, BindingsMark, close_gap, map_annots, map_vars, shift, variables};
pub use numbering::Numbering;
pub(crate) use solve::open_slots;
pub use solve::{Knowledge, Proof, SearchDecision, Solver, key, open_value, relate};
pub use unify::{are_apart, constant_hash, match_annots};
pub(crate) use unify::{decorated, namespaced};
