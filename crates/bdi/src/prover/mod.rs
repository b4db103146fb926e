//! Prover: solutions of formulas over an agent's mind, and values of expressions.

mod build;
mod failure;
mod foreign;
mod query_call;
mod shallow;
mod solve;

pub use build::{
    build, build_annots, build_args, calls_nothing, match_expr, match_slot, number, plain_atom, push_plain_value,
};
pub use failure::{Failure, FailureText};
use foreign::foreign_query;
pub use foreign::{no_foreign_host, result_args};
pub use query_call::{ActionCall, NativeFunction, Queries, QueryAction, QueryAnswer};
pub use solve::{Knowledge, Proof, SearchDecision, Solver, key, open_value, relate};
