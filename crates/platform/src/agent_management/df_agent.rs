//! The agent `df`.

use whimbrel_acl::{AclMessage, Aid, Performative, Symbol, sym};

use super::conversation::{Answers, Asked, Outcome, content_of, is_answer};
use super::exceptions::{FailureReason, Misunderstanding, Refusal};
use super::{frames, read};
use crate::df::{Df, DfDescription, DfQuery, ModifyError, NoticeForm, RegisterError};
use crate::{AgentBody, Next, Outbox, Time, Turn};

/// The body of the agent `df`: answers requests to register, deregister, modify and search, and subscriptions. It needs
/// [`crate::Services::directory`]; its turns also end the leases that ran out.
//= fipa00023 4.1.2
#[derive(Clone, Copy, Debug, Default)]
pub struct DfAgent;

/// What the DF is asked to do.
enum DfRequest {
    Register(DfDescription),
    Deregister(Aid),
    Modify(DfDescription),
    Search(DfQuery),
}

impl AgentBody for DfAgent {
    fn turn(&mut self, turn: &mut Turn<'_>) -> Next {
        let wall_ms = turn.services.wall_clock_ms();
        let Some(directory) = turn.services.directory() else { return Next::Wait };
        directory.with_df(|df| {
            df.handle_wall_clock(turn.now, wall_ms);
            df.handle_timeout(turn.now);
            for _ in 0..turn.budget {
                let Some(message) = turn.mailbox.take() else { break };
                answer(df, &message, turn.aid, turn.now, wall_ms, turn.outbox);
            }
            send_notices(df, turn.outbox);
        });
        if !turn.mailbox.is_empty() {
            return Next::Ready;
        }
        directory.with_df(|df| df.poll_timeout()).flatten().map_or(Next::Wait, Next::WaitUntil)
    }

    fn snapshot(&self, _now: Time) -> Option<Vec<u8>> {
        Some(Vec::new())
    }
}

fn send_notices(df: &mut Df, outbox: &mut Outbox) {
    while let Some(notice) = df.poll_message() {
        outbox.send(notice);
    }
}

fn answer(df: &mut Df, message: &AclMessage, me: Aid, now: Time, wall_ms: u64, outbox: &mut Outbox) {
    if is_answer(message) {
        return;
    }
    // What others did to the DF is told before what this message does to it.
    send_notices(df, outbox);
    let mut answers = Answers { message, me, outbox };
    let understood = answers.check_ontology().and_then(|()| match message.performative {
        Performative::Request => request(df, &mut answers, now, wall_ms),
        Performative::Subscribe => subscribe(df, &mut answers, now, wall_ms),
        Performative::Cancel => cancel(df, &mut answers),
        other => Err(Misunderstanding::UnsupportedAct(Symbol::from(other))),
    });
    if let Err(reason) = understood {
        answers.not_understood(&reason);
    }
}

fn request(df: &mut Df, answers: &mut Answers<'_>, now: Time, wall_ms: u64) -> Result<(), Misunderstanding> {
    let asked = Asked::read(&*content_of(answers.message)?, &frames::agent_identifier(answers.me, df.platform()))?;
    match read_request(&asked, answers.message.sender, df.platform(), wall_ms) {
        Ok(request) => {
            answers.agree(&asked);
            let outcome = carry_out(df, request, now);
            answers.report(&asked, outcome);
        }
        Err(reason) => answers.refuse(&asked, &reason),
    }
    Ok(())
}

/// What is asked for, if `sender` may ask for it: each agent registers, changes and removes its own entry only.
fn read_request(asked: &Asked, sender: Aid, platform: Symbol, wall_ms: u64) -> Result<DfRequest, Refusal> {
    let own = |description: DfDescription| {
        let agent = description.agent;
        let agent = agent.ok_or(Refusal::MissingParameter { object: "df-agent-description", parameter: "name" })?;
        if is_same(agent, sender, platform) { Ok((agent, description)) } else { Err(Refusal::Unauthorised) }
    };
    let the_description = || match asked.args.as_slice() {
        [] => Err(Refusal::MissingArgument("df-agent-description")),
        [description] => read::df_agent_description(description, wall_ms),
        _ => Err(Refusal::UnexpectedArgumentCount),
    };
    match asked.function.as_str() {
        "register" => Ok(DfRequest::Register(own(the_description()?)?.1)),
        "deregister" => Ok(DfRequest::Deregister(own(the_description()?)?.0)),
        "modify" => Ok(DfRequest::Modify(own(the_description()?)?.1)),
        "search" => Ok(DfRequest::Search(read::df_query(&asked.args, wall_ms)?)),
        _ => Err(Refusal::UnsupportedFunction(asked.function)),
    }
}

/// Whether two names mean the same agent, on the platform of this name.
pub(super) fn is_same(one: Aid, other: Aid, platform: Symbol) -> bool {
    let home = |agent: Aid| if agent.platform == platform { sym::EMPTY } else { agent.platform };
    one.name == other.name && home(one) == home(other)
}

fn carry_out(df: &mut Df, request: DfRequest, now: Time) -> Result<Outcome, FailureReason> {
    match request {
        DfRequest::Register(description) => df.register(description, now).map_err(register_failure)?,
        DfRequest::Deregister(agent) => df.deregister(agent, now).map_err(|_| FailureReason::NotRegistered)?,
        DfRequest::Modify(description) => df.modify(description, now).map_err(|error| match error {
            ModifyError::NotRegistered(_) => FailureReason::NotRegistered,
            ModifyError::Description(error) => register_failure(error),
        })?,
        DfRequest::Search(query) => {
            let found = df.search(&query, now).into_iter().map(|description| df.frame_of(description)).collect();
            return Ok(Outcome::Result(frames::set(found)));
        }
    }
    Ok(Outcome::Done)
}

fn register_failure(error: RegisterError) -> FailureReason {
    match error {
        RegisterError::AlreadyRegistered(_) => FailureReason::AlreadyRegistered,
        other => FailureReason::InternalError(other.to_string()),
    }
}

//= fipa00023 4.1.4
fn subscribe(df: &mut Df, answers: &mut Answers<'_>, now: Time, wall_ms: u64) -> Result<(), Misunderstanding> {
    let me = frames::agent_identifier(answers.me, df.platform());
    let asked = Asked::read_subscription(&*content_of(answers.message)?, &me)?;
    if asked.function.as_str() != "search" {
        answers.refuse(&asked, &Refusal::UnsupportedFunction(asked.function));
        return Ok(());
    }
    match read::df_query(&asked.args, wall_ms) {
        Ok(query) => {
            answers.agree(&asked);
            let inform = Box::new(answers.message.make_reply(answers.me, Performative::Inform));
            let form = NoticeForm::Fipa { inform, action: asked.action.clone() };
            if let Err(error) = df.subscribe(answers.message.sender, query.template, form, now) {
                answers.report(&asked, Err(FailureReason::InternalError(error.to_string())));
            }
            send_notices(df, answers.outbox);
        }
        Err(reason) => answers.refuse(&asked, &reason),
    }
    Ok(())
}

/// Ends the subscription made in the message's conversation.
//= fipa00035 1.2
fn cancel(df: &mut Df, answers: &mut Answers<'_>) -> Result<(), Misunderstanding> {
    let message = answers.message;
    let sender = crate::dead_letters::agent_atom(message.sender);
    let action = crate::dead_letters::sending(message, answers.me);
    let asked = Asked {
        action: whimbrel_acl::Value::term("action", [sender, action]),
        function: Symbol::new("cancel"),
        args: Vec::new(),
    };
    let ended = df.unsubscribe(message.sender, message.extras().conversation_id.as_ref());
    let outcome = if ended { Ok(Outcome::Done) } else { Err(FailureReason::NotRegistered) };
    answers.report(&asked, outcome);
    Ok(())
}
