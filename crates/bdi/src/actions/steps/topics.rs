//! Topics and groups.

use whimbrel_acl::Aid;
use whimbrel_platform::topics::{self, TopicError};

use super::messages::{check_exists, is_question, performative};
use super::name_of;
use crate::prover::Failure;
use crate::reason::{ExpectedAnswer, StepCall, StepProgress};

/// Returns the topic or group named by the first argument.
fn address(call: &StepCall<'_, '_>, kind: impl FnOnce(&str) -> Result<Aid, TopicError>) -> Result<Aid, Failure> {
    kind(&name_of(call.arg(0))).map_err(|error| Failure::wrong_argument(call.call, &error.to_string()))
}

fn join(call: &mut StepCall<'_, '_>, to: Aid) -> Result<StepProgress, Failure> {
    let joined = call.cycle.services.join(call.cycle.aid, to);
    joined.map(|()| StepProgress::Done).map_err(|error| Failure::new("internal_action", error.to_string()))
}

fn leave(call: &mut StepCall<'_, '_>, from: Aid) -> StepProgress {
    call.cycle.services.leave(call.cycle.aid, from);
    StepProgress::Done
}

fn send(call: &mut StepCall<'_, '_>, to: Aid) -> Result<StepProgress, Failure> {
    let performative = performative(call)?;
    let content = call.arg(2).clone();
    check_exists(call, to, performative, &content)?;
    let question = if is_question(performative) { ExpectedAnswer::Open } else { ExpectedAnswer::No };
    let id = call.cycle.question_id(question);
    call.cycle.send(to, performative, content, id, None);
    Ok(StepProgress::Done)
}

/// `.subscribe(Topic)`: makes this agent get every message to the topic.
pub fn subscribe(call: &mut StepCall<'_, '_>) -> Result<StepProgress, Failure> {
    let topic = address(call, topics::topic)?;
    join(call, topic)
}

/// `.unsubscribe(Topic)`.
pub fn unsubscribe(call: &mut StepCall<'_, '_>) -> Result<StepProgress, Failure> {
    let topic = address(call, topics::topic)?;
    Ok(leave(call, topic))
}

/// `.publish(Topic, Performative, Content)`: sends to all subscribers.
pub fn publish(call: &mut StepCall<'_, '_>) -> Result<StepProgress, Failure> {
    let topic = address(call, topics::topic)?;
    send(call, topic)
}

/// `.join_group(Group)`.
pub fn join_group(call: &mut StepCall<'_, '_>) -> Result<StepProgress, Failure> {
    let group = address(call, topics::group)?;
    join(call, group)
}

/// `.leave_group(Group)`.
pub fn leave_group(call: &mut StepCall<'_, '_>) -> Result<StepProgress, Failure> {
    let group = address(call, topics::group)?;
    Ok(leave(call, group))
}

/// `.multicast(Group, Performative, Content)`: sends to all members.
pub fn multicast(call: &mut StepCall<'_, '_>) -> Result<StepProgress, Failure> {
    let group = address(call, topics::group)?;
    send(call, group)
}

/// `.anycast(Group, Performative, Content)`: sends to one member.
pub fn anycast(call: &mut StepCall<'_, '_>) -> Result<StepProgress, Failure> {
    let any = address(call, topics::any_member)?;
    send(call, any)
}
