//! Agent `ams`.

use whimbrel_acl::{AclMessage, Aid, Performative, Symbol, Value, sym};

use super::advice;
use super::conversation::{ActionResult, Answers, ServiceRequest, content_of, is_answer};
use super::df_agent::is_same;
use super::exceptions::{FailureReason, Misunderstanding, RequestRefusal};
use super::frames;
use super::read::{self, AmsDescription};
use crate::ams::{AgentModification, AgentQuery, Ams, LifecycleError};
use crate::limits::SEARCH_RESULTS_MAX;
use crate::policy::{Action, Principal, Verdict};
use crate::topics::{Cast, TopicError};
use crate::{AgentBody, Next, Outbox, Services, Time, Turn};

/// Body of the agent `ams`. It answers requests to register, deregister, modify, search and get-description, has
/// questions for advice answered, and ends agents whose lifetime is over. It must be woken when an agent gets a
/// lifetime. It needs [`crate::Services::directory`].
//= fipa00023 4.2.2
#[derive(Clone, Copy, Debug, Default)]
pub struct AmsAgent;

/// Request to the AMS.
enum AmsRequest {
    /// Registration, which every agent of the platform has already.
    Register,
    Deregister(Aid),
    Modify(Aid, AgentModification),
    /// Search; `None` if the search is for agents of another platform, so nothing is found.
    Search(Option<AgentQuery>),
    Describe,
}

/// Functions of the AMS that concern two agents, or an agent and a group. They are not FIPA's: see
/// docs/guide/topics-and-groups.md and docs/reference/fipa-agent-management.md.
#[derive(Clone, Copy)]
enum TieFunction {
    /// Subscribe to a topic, or join a group.
    Join,
    Leave,
    /// Monitor an agent: its end is told.
    Watch,
    Unwatch,
}

/// Request of an agent for a [`TieFunction`]. It does not concern the AMS itself, and must not be carried out while the
/// AMS is borrowed.
struct TieRequest {
    asked: ServiceRequest,
    function: TieFunction,
    of: Aid,
}

impl TieRequest {
    /// Reads a request for such a function, if it is one.
    fn read(asked: &ServiceRequest) -> Option<Result<(TieFunction, Aid), RequestRefusal>> {
        let function = match asked.function_name().as_str() {
            "join" => TieFunction::Join,
            "leave" => TieFunction::Leave,
            "watch" => TieFunction::Watch,
            "unwatch" => TieFunction::Unwatch,
            _ => return None,
        };
        Some(match asked.args.as_slice() {
            [of] => read::agent(of).map(|of| (function, of)).ok_or(RequestRefusal::MissingArgument("agent-identifier")),
            [] => Err(RequestRefusal::MissingArgument("agent-identifier")),
            _ => Err(RequestRefusal::UnexpectedArgumentCount),
        })
    }

    fn settle(self, services: &dyn Services, mut answers: Answers<'_>) {
        match self.outcome(services, answers.message.sender) {
            Err(refusal) => answers.refuse(&self.asked, &refusal),
            Ok(outcome) => {
                answers.agree(&self.asked);
                answers.report(&self.asked, outcome.map(|()| ActionResult::Done));
            }
        }
    }

    fn outcome(&self, services: &dyn Services, agent: Aid) -> Result<Result<(), FailureReason>, RequestRefusal> {
        let unreadable = || RequestRefusal::UnexpectedArgument("agent-identifier".into());
        let joined = match self.function {
            TieFunction::Join => services.join(agent, self.of),
            TieFunction::Leave if services.leave(agent, self.of) => Ok(()),
            TieFunction::Unwatch if services.unmonitor(agent, self.local(services)?) => Ok(()),
            TieFunction::Leave | TieFunction::Unwatch => Err(TopicError::NoSuchAgent(agent)),
            TieFunction::Watch => return self.watch(services, agent),
        };
        Ok(match joined {
            Err(TopicError::Forbidden { .. }) => return Err(RequestRefusal::Unauthorised),
            Err(TopicError::NotJoinable(_)) => return Err(unreadable()),
            Err(TopicError::NoSuchAgent(_)) => Err(FailureReason::NotRegistered),
            Err(other) => Err(FailureReason::InternalError(other.to_string())),
            Ok(()) => Ok(()),
        })
    }

    fn watch(&self, services: &dyn Services, agent: Aid) -> Result<Result<(), FailureReason>, RequestRefusal> {
        let of = self.local(services)?;
        // An agent that ends in between is told as `unknown`.
        Ok(match services.exists(of) {
            false => Err(FailureReason::NotRegistered),
            true if services.monitor(agent, of) => Ok(()),
            true => Err(FailureReason::InternalError("this platform has no monitors".to_owned())),
        })
    }

    /// Returns the watched agent. It must be one of this platform, and no topic or group.
    fn local(&self, services: &dyn Services) -> Result<Aid, RequestRefusal> {
        let home = self.of.platform == sym::EMPTY || self.of.platform == services.platform();
        match home && Cast::of(self.of.name).is_none() {
            true => Ok(self.of.at(sym::EMPTY)),
            false => Err(RequestRefusal::UnexpectedArgument("agent-identifier".into())),
        }
    }
}

impl AgentBody for AmsAgent {
    fn turn(&mut self, turn: &mut Turn<'_>) -> Next {
        let Some(directory) = turn.services.directory() else { return Next::Wait };
        let (expired, next) = directory.with_ams(|ams| (ams.expire(turn.now), ams.next_end())).unwrap_or_default();
        expired.into_iter().for_each(|(agent, owner)| tell_owner(agent, owner, turn));
        for _ in 0..turn.budget {
            let Some(message) = turn.mailbox.take() else {
                return if next < Time::NEVER { Next::WaitUntil(next) } else { Next::Wait };
            };
            if advice::answer(&message, turn.aid, turn.services, turn.outbox) {
                continue;
            }
            let asker = Requester { who: turn.services.principal(message.sender), services: turn.services };
            let answered = directory.with_ams(|ams| answer(ams, &asker, &message, turn.aid, turn.outbox));
            if let Some(Some(tie)) = answered {
                tie.settle(turn.services, Answers { message: &message, me: turn.aid, outbox: turn.outbox });
            }
        }
        Next::Ready
    }

    fn snapshot(&self, _now: Time) -> Option<Vec<u8>> {
        Some(Vec::new())
    }
}

/// Tells the owner of an agent whose lifetime is over, as if the owner had watched it.
fn tell_owner(agent: Aid, owner: Symbol, turn: &mut Turn<'_>) {
    if owner != Symbol::default() {
        let content = Value::term("ended", [Value::atom(agent.name), Value::atom("expired")]);
        turn.outbox.send(AclMessage::new(Performative::Inform, turn.aid, Aid::local(owner), content));
    }
}

/// Principal that asks, and the policy that it is checked against.
struct Requester<'a> {
    who: Principal,
    services: &'a dyn Services,
}

fn answer(
    ams: &mut Ams,
    asker: &Requester<'_>,
    message: &AclMessage,
    me: Aid,
    outbox: &mut Outbox,
) -> Option<TieRequest> {
    if is_answer(message) {
        return None;
    }
    let mut answers = Answers { message, me, outbox };
    let understood = answers.check_ontology().and_then(|()| match message.performative {
        Performative::Request => request(ams, asker, &mut answers),
        Performative::QueryRef => query(ams, asker, &mut answers).map(|()| None),
        other => Err(Misunderstanding::UnsupportedAct(Symbol::from(other))),
    });
    understood.unwrap_or_else(|reason| {
        answers.not_understood(&reason);
        None
    })
}

fn request(
    ams: &mut Ams,
    asker: &Requester<'_>,
    answers: &mut Answers<'_>,
) -> Result<Option<TieRequest>, Misunderstanding> {
    let asked =
        ServiceRequest::read(&*content_of(answers.message)?, &frames::agent_identifier(answers.me, ams.home()))?;
    match TieRequest::read(&asked) {
        None => {}
        Some(Ok((function, of))) => return Ok(Some(TieRequest { asked, function, of })),
        Some(Err(reason)) => {
            answers.refuse(&asked, &reason);
            return Ok(None);
        }
    }
    match read_request(ams, asker, &asked, answers.message.sender) {
        Ok(request) => {
            answers.agree(&asked);
            let outcome = carry_out(ams, request);
            answers.report(&asked, outcome);
        }
        Err(reason) => answers.refuse(&asked, &reason),
    }
    Ok(None)
}

/// Answers a question: a search whose answer equates the question with the objects found.
//= fipa00037 3.15
fn query(ams: &mut Ams, asker: &Requester<'_>, answers: &mut Answers<'_>) -> Result<(), Misunderstanding> {
    let me = frames::agent_identifier(answers.me, ams.home());
    let asked = ServiceRequest::read_question(&*content_of(answers.message)?, &me)?;
    match read_request(ams, asker, &asked, answers.message.sender) {
        Ok(request @ (AmsRequest::Search(_) | AmsRequest::Describe)) => {
            let outcome = carry_out(ams, request);
            answers.report(&asked, outcome);
        }
        Ok(_) => answers.refuse(&asked, &RequestRefusal::UnsupportedFunction(asked.function)),
        Err(reason) => answers.refuse(&asked, &reason),
    }
    Ok(())
}

/// Reads a request that `sender` may make. An agent and its owner may change or end the agent, unless a rule of the
/// policy forbids it. Others may if a rule permits it.
//= fipa00023 4.2.1
fn read_request(
    ams: &Ams,
    asker: &Requester<'_>,
    asked: &ServiceRequest,
    sender: Aid,
) -> Result<AmsRequest, RequestRefusal> {
    let may = |agent: Aid| {
        match asker.services.verdict(asker.who, Action::Kill, agent.name.as_str()) {
            Verdict::Denied => return Err(RequestRefusal::Unauthorised),
            Verdict::Allowed => {
                asker.services.note_allowed(asker.who, Action::Kill, agent.name.as_str());
                return Ok(());
            }
            Verdict::Unsaid => {}
        }
        let owner = ams.describe(agent).map(|description| description.owner);
        let owned = owner.is_some_and(|owner| owner.as_str() == sender.name.as_str() && ams.exists(sender));
        let is_itself = is_same(agent, sender, ams.platform());
        if owned && !is_itself {
            asker.services.note_allowed(asker.who, Action::Kill, agent.name.as_str());
        }
        if owner.is_none() || owned || is_itself { Ok(()) } else { Err(RequestRefusal::Unauthorised) }
    };
    let the_description = || match asked.args.as_slice() {
        [] => Err(RequestRefusal::MissingArgument("ams-agent-description")),
        [description] => AmsDescription::read(description),
        _ => Err(RequestRefusal::UnexpectedArgumentCount),
    };
    match asked.function_name().as_str() {
        "register" => {
            let agent = the_description()?.named()?;
            // Agents come to a platform by being created there, or through the gateway.
            if ams.exists(agent) { Ok(AmsRequest::Register) } else { Err(RequestRefusal::Unauthorised) }
        }
        "deregister" => {
            let agent = the_description()?.named()?;
            may(agent).map(|()| AmsRequest::Deregister(agent))
        }
        "modify" => {
            let description = the_description()?;
            let agent = description.named()?;
            may(agent).map(|()| AmsRequest::Modify(agent, description.modification()))
        }
        "search" => Ok(AmsRequest::Search(read::ams_query(&asked.args, ams.platform())?)),
        "get-description" if asked.args.is_empty() => Ok(AmsRequest::Describe),
        "get-description" => Err(RequestRefusal::UnexpectedArgumentCount),
        _ => Err(RequestRefusal::UnsupportedFunction(asked.function)),
    }
}

/// Returns the entries of all agents of the platform that fit: first this node's, then those of others.
fn search(ams: &Ams, query: AgentQuery) -> Vec<Value> {
    let here = ams.search(&query);
    let left = query.results_max.min(SEARCH_RESULTS_MAX).saturating_sub(here.len());
    let elsewhere = ams.search_elsewhere(&AgentQuery { results_max: left, ..query });
    let here = here.iter().map(|found| frames::ams_agent_description(found, ams.home()));
    here.chain(elsewhere.into_iter().map(|agent| frames::ams_agent_named(agent, ams.home()))).collect()
}

fn carry_out(ams: &mut Ams, request: AmsRequest) -> Result<ActionResult, FailureReason> {
    let failure = |error: LifecycleError| match error {
        LifecycleError::NoSuchAgent(_) => FailureReason::NotRegistered,
        other => FailureReason::InternalError(other.to_string()),
    };
    match request {
        AmsRequest::Register => Err(FailureReason::AlreadyRegistered),
        AmsRequest::Deregister(agent) => ams.kill(agent).map(|()| ActionResult::Done).map_err(failure),
        AmsRequest::Modify(agent, change) => ams.modify(agent, change).map(|()| ActionResult::Done).map_err(failure),
        AmsRequest::Search(query) => {
            let found = query.map(|query| search(ams, query)).unwrap_or_default();
            Ok(ActionResult::Result(frames::set(found)))
        }
        AmsRequest::Describe => Ok(ActionResult::Result(frames::ap_description(ams.home()))),
    }
}
