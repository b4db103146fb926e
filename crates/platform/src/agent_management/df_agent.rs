//! Agent `df`.

use whimbrel_acl::{Aid, MessageBody, Performative, Symbol, sym};

use super::conversation::{ActionResult, Answers, ServiceRequest, content_of, is_answer};
use super::exceptions::{FailureReason, Misunderstanding, RequestRefusal};
use super::{frames, read};
use crate::df::{Df, DfDescription, DfQuery, ModifyError, NoticeForm, RegisterError};
use crate::policy::{Action, Principal};
use crate::{AgentBody, Mailbox, Next, Outbox, Services, Time, Turn};

/// Body of the agent `df`. It answers requests to register, deregister, modify and search, and subscriptions. Its turns
/// also end the leases that ran out. It needs [`crate::Services::directory`].
//= fipa00023 4.1.2
#[derive(Clone, Copy, Debug, Default)]
pub struct DfAgent;

/// Request to the DF.
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
        let questions = questions(turn.mailbox, turn.budget, turn.services);
        directory.with_df(|df| {
            df.handle_wall_clock(turn.now, wall_ms);
            df.handle_timeout(turn.now);
            for question in &questions {
                answer(df, question, turn, wall_ms);
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

/// Message to the DF, its sender, and the policy that the sender is checked against.
struct DfMessage<'a> {
    message: MessageBody,
    who: Principal,
    services: &'a dyn Services,
}

/// Takes the next messages. Their senders are looked up before the DF is borrowed.
fn questions<'a>(mailbox: &mut Mailbox, budget: u32, services: &'a dyn Services) -> Vec<DfMessage<'a>> {
    let question = |message: MessageBody| DfMessage { who: services.principal(message.sender), message, services };
    std::iter::from_fn(|| mailbox.take()).take(budget as usize).map(question).collect()
}

fn send_notices(df: &mut Df, outbox: &mut Outbox) {
    while let Some(notice) = df.poll_message() {
        outbox.send(notice);
    }
}

fn answer(df: &mut Df, question: &DfMessage<'_>, turn: &mut Turn<'_>, wall_ms: u64) {
    let (message, now) = (&*question.message, turn.now);
    if is_answer(message) {
        return;
    }
    // Earlier changes to the DF are told before the effects of this message.
    send_notices(df, turn.outbox);
    let mut answers = Answers { message, me: turn.aid, outbox: turn.outbox };
    let understood = answers.check_ontology().and_then(|()| match message.performative {
        Performative::Request => request(df, question, &mut answers, now, wall_ms),
        Performative::QueryRef => query(df, question, &mut answers, now, wall_ms),
        Performative::Subscribe => subscribe(df, question, &mut answers, now, wall_ms),
        Performative::Cancel => cancel(df, question, &mut answers),
        other => Err(Misunderstanding::UnsupportedAct(Symbol::from(other))),
    });
    if let Err(reason) = understood {
        answers.not_understood(&reason);
    }
}

fn request(
    df: &mut Df,
    question: &DfMessage<'_>,
    answers: &mut Answers<'_>,
    now: Time,
    wall_ms: u64,
) -> Result<(), Misunderstanding> {
    let asked = ServiceRequest::read(&*content_of(answers.message)?, &frames::agent_identifier(answers.me, df.home()))?;
    match read_request(&asked, question, df.platform(), wall_ms) {
        Ok(request) => {
            answers.agree(&asked);
            let only_looks = matches!(request, DfRequest::Search(_));
            let outcome = carry_out(df, request, now);
            if !only_looks {
                question.services.note_standing(question.message.sender);
            }
            answers.report(&asked, outcome);
        }
        Err(reason) => answers.refuse(&asked, &reason),
    }
    Ok(())
}

/// Reads a request that `sender` may make: each agent registers, changes and removes its own entry only.
fn read_request(
    asked: &ServiceRequest,
    question: &DfMessage<'_>,
    platform: Symbol,
    wall_ms: u64,
) -> Result<DfRequest, RequestRefusal> {
    let sender = question.message.sender;
    let permitted = |description: DfDescription| {
        let may = |service: &str| question.services.permits(question.who, Action::Register, service);
        let all = description.services.iter().all(|service| may(service.name.as_str()));
        let may = all && (!description.services.is_empty() || may(""));
        if may { Ok(description) } else { Err(RequestRefusal::Unauthorised) }
    };
    let own = |description: DfDescription| {
        let agent = description.agent;
        let agent =
            agent.ok_or(RequestRefusal::MissingParameter { object: "df-agent-description", parameter: "name" })?;
        if is_same(agent, sender, platform) { Ok((agent, description)) } else { Err(RequestRefusal::Unauthorised) }
    };
    let the_description = || match asked.args.as_slice() {
        [] => Err(RequestRefusal::MissingArgument("df-agent-description")),
        [description] => read::df_agent_description(description, wall_ms),
        _ => Err(RequestRefusal::UnexpectedArgumentCount),
    };
    match asked.function_name().as_str() {
        "register" => Ok(DfRequest::Register(permitted(own(the_description()?)?.1)?)),
        "deregister" => Ok(DfRequest::Deregister(own(the_description()?)?.0)),
        "modify" => Ok(DfRequest::Modify(permitted(own(the_description()?)?.1)?)),
        "search" => Ok(DfRequest::Search(read::df_query(&asked.args, wall_ms)?)),
        _ => Err(RequestRefusal::UnsupportedFunction(asked.function)),
    }
}

/// Returns true if two names mean the same agent, on the platform of this name.
pub(super) fn is_same(one: Aid, other: Aid, platform: Symbol) -> bool {
    let home = |agent: Aid| if agent.platform == platform { sym::EMPTY } else { agent.platform };
    one.name == other.name && home(one) == home(other)
}

fn carry_out(df: &mut Df, request: DfRequest, now: Time) -> Result<ActionResult, FailureReason> {
    match request {
        DfRequest::Register(description) => df.register(description, now).map_err(register_failure)?,
        DfRequest::Deregister(agent) => df.deregister(agent, now).map_err(|_| FailureReason::NotRegistered)?,
        DfRequest::Modify(description) => df.modify(description, now).map_err(|error| match error {
            ModifyError::NotRegistered(_) => FailureReason::NotRegistered,
            ModifyError::Description(error) => register_failure(error),
        })?,
        DfRequest::Search(query) => {
            let found = df.search(&query, now).into_iter().map(|description| df.frame_of(description)).collect();
            return Ok(ActionResult::Result(frames::set(found)));
        }
    }
    Ok(ActionResult::Done)
}

fn register_failure(error: RegisterError) -> FailureReason {
    match error {
        RegisterError::AlreadyRegistered(_) => FailureReason::AlreadyRegistered,
        other => FailureReason::InternalError(other.to_string()),
    }
}

/// Answers a question: a search whose answer equates the question with the objects found.
//= fipa00037 3.15
fn query(
    df: &mut Df,
    question: &DfMessage<'_>,
    answers: &mut Answers<'_>,
    now: Time,
    wall_ms: u64,
) -> Result<(), Misunderstanding> {
    let asked = ServiceRequest::read_question(
        &*content_of(answers.message)?,
        &frames::agent_identifier(answers.me, df.home()),
    )?;
    match read_request(&asked, question, df.platform(), wall_ms) {
        Ok(request @ DfRequest::Search(_)) => {
            let outcome = carry_out(df, request, now);
            answers.report(&asked, outcome);
        }
        Ok(_) => answers.refuse(&asked, &RequestRefusal::UnsupportedFunction(asked.function)),
        Err(reason) => answers.refuse(&asked, &reason),
    }
    Ok(())
}

//= fipa00023 4.1.4
fn subscribe(
    df: &mut Df,
    question: &DfMessage<'_>,
    answers: &mut Answers<'_>,
    now: Time,
    wall_ms: u64,
) -> Result<(), Misunderstanding> {
    let me = frames::agent_identifier(answers.me, df.home());
    let asked = ServiceRequest::read_question(&*content_of(answers.message)?, &me)?;
    if asked.function_name() != "search" {
        answers.refuse(&asked, &RequestRefusal::UnsupportedFunction(asked.function));
        return Ok(());
    }
    match read::df_query(&asked.args, wall_ms) {
        Ok(query) => {
            answers.agree(&asked);
            let mut inform = Box::new(answers.message.make_reply(answers.me, Performative::Inform));
            answers.name_language(&mut inform);
            let form = NoticeForm::Fipa { inform, action: asked.as_subscribed(answers.message) };
            if let Err(error) = df.subscribe(answers.message.sender, query.template, form, now) {
                answers.report(&asked, Err(FailureReason::InternalError(error.to_string())));
            }
            question.services.note_standing(question.message.sender);
            send_notices(df, answers.outbox);
        }
        Err(reason) => answers.refuse(&asked, &reason),
    }
    Ok(())
}

/// Ends the subscription made in the message's conversation.
//= fipa00035 1.2
fn cancel(df: &mut Df, question: &DfMessage<'_>, answers: &mut Answers<'_>) -> Result<(), Misunderstanding> {
    let message = answers.message;
    let sender = crate::dead_letters::agent_atom(message.sender);
    let action = crate::dead_letters::sending(message, answers.me);
    let asked = ServiceRequest {
        action: whimbrel_acl::Value::term("action", [sender, action]),
        function: Symbol::new("cancel"),
        args: Vec::new(),
        question: None,
    };
    let ended = df.unsubscribe(message.sender, message.extras().conversation_id.as_ref());
    question.services.note_standing(message.sender);
    let outcome = if ended { Ok(ActionResult::Done) } else { Err(FailureReason::NotRegistered) };
    answers.report(&asked, outcome);
    Ok(())
}
