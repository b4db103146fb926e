//! Hops to other nodes.

use whimbrel_acl::{Symbol, sym};
use whimbrel_platform::mobility::{HopMode, HopRequest};

use super::{name_of, node_named};
use crate::prover::Failure;
use crate::reason::{StepCall, StepProgress};

/// `.move_to(Node)`: continues the agent there, with the step after this one.
pub fn move_to(call: &mut StepCall<'_, '_>) -> Result<StepProgress, Failure> {
    hop(call, HopMode::Move)
}

/// `.clone_to(Node [, Name])`: continues a second agent there with the step after this one, and this one here.
pub fn clone_to(call: &mut StepCall<'_, '_>) -> Result<StepProgress, Failure> {
    let name = call.args.get(1).map_or(sym::EMPTY, |name| Symbol::new(&name_of(name)));
    hop(call, HopMode::Clone(name))
}

fn hop(call: &mut StepCall<'_, '_>, mode: HopMode) -> Result<StepProgress, Failure> {
    let to = node_named(call)?;
    call.cycle.hop(call.intention, HopRequest { to, mode });
    Ok(StepProgress::Waiting)
}
