//! Logic: variable bindings, unification, arithmetic, and the prover.

mod annot_ways;
pub mod arith;
mod bindings;
mod decorated;
pub mod levels;
mod numbering;
mod shallow;
mod shapes;
mod solve;
mod unify;
mod univ;
mod variables;

pub use annot_ways::{AnnotWays, match_ground_annots};
pub use bindings::{Bindings, BindingsMark};
pub use decorated::{decorate, unify_decorated};
pub use numbering::Numbering;
pub use shapes::{are_apart, constant_hash, is_source, namespace_of};
pub(crate) use shapes::{decorated, namespaced};
pub use solve::{Knowledge, Proof, SearchDecision, Solver, key, open_value, relate};
pub use unify::match_annots;
pub(crate) use variables::open_slots;
pub use variables::{close_gap, map_annots, map_vars, shift, variables};
