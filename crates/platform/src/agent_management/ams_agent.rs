//! The agent `ams`.

use whimbrel_acl::{AclMessage, Aid, Performative, Symbol};

use super::conversation::{Answers, Asked, Outcome, content_of, is_answer};
use super::df_agent::is_same;
use super::exceptions::{FailureReason, Misunderstanding, Refusal};
use super::frames;
use super::read::{self, AmsDescription};
use crate::ams::{AgentModification, AgentQuery, Ams, LifecycleError};
use crate::policy::{Action, Principal, Verdict};
use crate::{AgentBody, Next, Outbox, Services, Time, Turn};

/// The body of the agent `ams`: answers requests to register, deregister, modify, search and get-description. It needs
/// [`crate::Services::directory`].
//= fipa00023 4.2.2
#[derive(Clone, Copy, Debug, Default)]
pub struct AmsAgent;

/// What the AMS is asked to do.
enum AmsRequest {
    /// Already done for every agent of the platform.
    Register,
    Deregister(Aid),
    Modify(Aid, AgentModification),
    /// `None`: of another platform, so nothing is found.
    Search(Option<AgentQuery>),
    Describe,
}

impl AgentBody for AmsAgent {
    fn turn(&mut self, turn: &mut Turn<'_>) -> Next {
        let Some(directory) = turn.services.directory() else { return Next::Wait };
        for _ in 0..turn.budget {
            let Some(message) = turn.mailbox.take() else { return Next::Wait };
            let asker = Asker { who: turn.services.principal(message.sender), services: turn.services };
            directory.with_ams(|ams| answer(ams, &asker, &message, turn.aid, turn.outbox));
        }
        Next::Ready
    }

    fn snapshot(&self, _now: Time) -> Option<Vec<u8>> {
        Some(Vec::new())
    }
}

/// Who asks, and what the policy says to it.
struct Asker<'a> {
    who: Principal,
    services: &'a dyn Services,
}

fn answer(ams: &mut Ams, asker: &Asker<'_>, message: &AclMessage, me: Aid, outbox: &mut Outbox) {
    if is_answer(message) {
        return;
    }
    let mut answers = Answers { message, me, outbox };
    let understood = answers.check_ontology().and_then(|()| match message.performative {
        Performative::Request => request(ams, asker, &mut answers),
        other => Err(Misunderstanding::UnsupportedAct(Symbol::from(other))),
    });
    if let Err(reason) = understood {
        answers.not_understood(&reason);
    }
}

fn request(ams: &mut Ams, asker: &Asker<'_>, answers: &mut Answers<'_>) -> Result<(), Misunderstanding> {
    let asked = Asked::read(&*content_of(answers.message)?, &frames::agent_identifier(answers.me, ams.platform()))?;
    match read_request(ams, asker, &asked, answers.message.sender) {
        Ok(request) => {
            answers.agree(&asked);
            let outcome = carry_out(ams, request);
            answers.report(&asked, outcome);
        }
        Err(reason) => answers.refuse(&asked, &reason),
    }
    Ok(())
}

/// What is asked for, if `sender` may ask for it: an agent, or its owner, changes or ends it, and whoever a rule of the
/// policy permits to do so, unless one forbids it.
//= fipa00023 4.2.1
fn read_request(ams: &Ams, asker: &Asker<'_>, asked: &Asked, sender: Aid) -> Result<AmsRequest, Refusal> {
    let may = |agent: Aid| {
        match asker.services.verdict(asker.who, Action::Kill, agent.name.as_str()) {
            Verdict::Denied => return Err(Refusal::Unauthorised),
            Verdict::Allowed => return Ok(()),
            Verdict::Unsaid => {}
        }
        let owner = ams.describe(agent).map(|description| description.owner);
        let owned = owner.is_some_and(|owner| owner.as_str() == sender.name.as_str() && ams.exists(sender));
        if owner.is_none() || owned || is_same(agent, sender, ams.platform()) {
            Ok(())
        } else {
            Err(Refusal::Unauthorised)
        }
    };
    let the_description = || match asked.args.as_slice() {
        [] => Err(Refusal::MissingArgument("ams-agent-description")),
        [description] => AmsDescription::read(description),
        _ => Err(Refusal::UnexpectedArgumentCount),
    };
    match asked.function.as_str() {
        "register" => {
            let agent = the_description()?.named()?;
            // Agents come to a platform by being created there, or through the gateway.
            if ams.exists(agent) { Ok(AmsRequest::Register) } else { Err(Refusal::Unauthorised) }
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
        "get-description" => Err(Refusal::UnexpectedArgumentCount),
        _ => Err(Refusal::UnsupportedFunction(asked.function)),
    }
}

fn carry_out(ams: &mut Ams, request: AmsRequest) -> Result<Outcome, FailureReason> {
    let failure = |error: LifecycleError| match error {
        LifecycleError::NoSuchAgent(_) => FailureReason::NotRegistered,
        other => FailureReason::InternalError(other.to_string()),
    };
    match request {
        AmsRequest::Register => Err(FailureReason::AlreadyRegistered),
        AmsRequest::Deregister(agent) => ams.kill(agent).map(|()| Outcome::Done).map_err(failure),
        AmsRequest::Modify(agent, change) => ams.modify(agent, change).map(|()| Outcome::Done).map_err(failure),
        AmsRequest::Search(query) => {
            let found = query.map(|query| ams.search(&query)).unwrap_or_default();
            let frames = found.iter().map(|found| frames::ams_agent_description(found, ams.platform()));
            Ok(Outcome::Result(frames::set(frames.collect())))
        }
        AmsRequest::Describe => Ok(Outcome::Result(frames::ap_description(ams.platform()))),
    }
}
