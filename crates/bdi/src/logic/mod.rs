//! Logic: variable bindings, unification, arithmetic.

mod annot_ways;
mod annotations;
pub mod arith;
mod bindings;
mod decorated;
pub mod levels;
mod shapes;
mod unify;
mod univ;
mod variables;

pub use annot_ways::{AnnotWays, match_ground_annots};
pub use annotations::nest_sources;
pub(crate) use annotations::{is_literal, with_annots, without_sources};
pub use bindings::{Bindings, BindingsMark, RequestedStep};
pub use decorated::{decorate, unify_decorated};
pub use shapes::{are_apart, constant_hash, is_source, namespace_of};
pub(crate) use shapes::{is_decorated, is_namespaced, is_open_arithmetic, is_variable};
pub use unify::{Opened, match_annots};
pub(crate) use univ::univ;
pub(crate) use variables::open_slots;
pub use variables::{close_gap, map_annots, map_vars, shift, variables};
