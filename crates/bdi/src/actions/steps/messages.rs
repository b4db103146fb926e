//! Messages to other agents.

use rustc_hash::FxHashSet;
use whimbrel_acl::{Aid, Extras, Symbol, Text, Value, sym};

use crate::mind::WaitFor;
use crate::prover::Failure;
use crate::reason::{ExpectedAnswer, StepCall, StepProgress};

/// `.send(To, Performative, Content [, Answer | MessageId | Parameters [, Timeout]])`.
pub fn send(call: &mut StepCall<'_, '_>) -> Result<StepProgress, Failure> {
    let receivers = receivers(call)?;
    let performative = performative(call)?;
    let asks = is_question(performative);
    let answers = match call.args.get(3) {
        None => None,
        Some(_) if asks => return ask(call, receivers, performative),
        Some(parameters) if parameters.is_list() => {
            let extras = parameters_of(call, parameters)?;
            return send_with(call, receivers, performative, &extras);
        }
        Some(_) if matches!(performative, sym::ACHIEVE | sym::UNACHIEVE | sym::SIGNAL) => None,
        Some(Value::Atom(id)) => Some(Text::from(id.as_str())),
        Some(Value::Str(id)) => Some(id.clone()),
        Some(other) => {
            let message = format!("The Message ID ('{other}') parameter of the internal action 'send' is not an atom!");
            return Err(Failure::new("internal_action", message));
        }
    };
    let content = call.arg(2).clone();
    let question = if asks { ExpectedAnswer::Open } else { ExpectedAnswer::No };
    for receiver in receivers {
        check_exists(call, receiver, performative, &content)?;
        let id = call.cycle.question_id(question);
        call.cycle.send(receiver, performative, content.clone(), id, answers.clone());
    }
    Ok(StepProgress::Done)
}

/// Sends a message with these parameters. No intention waits for an answer to its `reply_with`.
fn send_with(
    call: &mut StepCall<'_, '_>,
    receivers: Vec<Aid>,
    performative: Symbol,
    extras: &Extras,
) -> Result<StepProgress, Failure> {
    let content = call.arg(2).clone();
    for receiver in receivers {
        check_exists(call, receiver, performative, &content)?;
        call.cycle.send_with(receiver, performative, content.clone(), extras.clone());
    }
    Ok(StepProgress::Done)
}

/// Returns the parameters in a list such as `[protocol("fipa-request"), conversation("c1"), reply_by(Ms)]`.
fn parameters_of(call: &StepCall<'_, '_>, list: &Value) -> Result<Extras, Failure> {
    let mut extras = Extras::default();
    for parameter in list.items() {
        let value = match parameter.args() {
            [value] => value,
            [Value::Str(name), value] if parameter.functor() == Some(Symbol::new("user")) && name.starts_with("X-") => {
                extras.user.push((Symbol::new(name), value.clone()));
                continue;
            }
            _ => return Err(wrong_parameter(call, parameter)),
        };
        let text = match value {
            Value::Str(text) => Some(text.clone()),
            Value::Atom(name) => Some(Text::from(name.as_str())),
            _ => None,
        };
        match (parameter.functor().map(Symbol::as_str), text, value) {
            (Some("conversation"), Some(text), _) => extras.conversation_id = Some(text),
            (Some("reply_with"), Some(text), _) => extras.reply_with = Some(text),
            (Some("in_reply_to"), Some(text), _) => extras.in_reply_to = Some(text),
            (Some("protocol"), Some(text), _) => extras.protocol = Some(Symbol::new(&text)),
            (Some("ontology"), Some(text), _) => extras.ontology = Some(Symbol::new(&text)),
            (Some("language"), Some(text), _) => extras.language = Some(Symbol::new(&text)),
            (Some("reply_to"), Some(text), _) => extras.reply_to.push(call.cycle.agent_named(Symbol::new(&text))),
            (Some("reply_by"), None, Value::Num(ms)) if *ms >= 0.0 => extras.reply_by_ms = Some(*ms as u64),
            _ => return Err(wrong_parameter(call, parameter)),
        }
    }
    Ok(extras)
}

fn wrong_parameter(call: &StepCall<'_, '_>, parameter: &Value) -> Failure {
    let what = format!(
        "{parameter} is no parameter of a message: they are conversation, reply_with, in_reply_to, protocol, \
         ontology, language and reply_to with a text, reply_by with milliseconds since 1970, and \
         user(\"X-NAME\", Value)"
    );
    Failure::wrong_argument(call.call, &what)
}

/// Asks a question, and waits for the answer.
fn ask(call: &mut StepCall<'_, '_>, receivers: Vec<Aid>, performative: Symbol) -> Result<StepProgress, Failure> {
    let deadline = match call.args.get(4) {
        None => None,
        Some(timeout) => Some(timeout.as_f64().map(|ms| call.after(ms.trunc())).ok_or_else(|| {
            let message = format!("The 5th parameter of send must be a number (timeout) and not '{timeout}'!");
            Failure::new("internal_action", message)
        })?),
    };
    let content = call.arg(2).clone();
    for receiver in &receivers {
        check_exists(call, *receiver, performative, &content)?;
    }
    let many = call.arg(0).is_list();
    if receivers.is_empty() {
        return call.unify(3, &Value::Nil);
    }
    let Some(id) = call.cycle.question_id(ExpectedAnswer::WaitedFor) else { return Err(Failure::said_no()) };
    for receiver in &receivers {
        call.cycle.send(*receiver, performative, content.clone(), Some(id.clone()), None);
        call.cycle.watch_minion(*receiver);
    }
    let until = WaitFor::Answer {
        id,
        many,
        missing: receivers,
        answers: Vec::new(),
        target: call.arg(3).clone(),
        all: performative == sym::ASK_ALL,
    };
    call.cycle.put_down(Some(call.intention));
    call.cycle.wait_for(call.intention, until, deadline, None);
    Ok(StepProgress::Waiting)
}

fn receivers(call: &StepCall<'_, '_>) -> Result<Vec<Aid>, Failure> {
    let to = call.arg(0);
    let one = |value: &Value| match value {
        Value::Str(name) => Some(call.cycle.agent_named(Symbol::new(name))),
        Value::Atom(name) => Some(call.cycle.agent_named(*name)),
        _ => None,
    };
    if to.is_list() {
        let agent = |value: &Value| {
            one(value).ok_or_else(|| {
                let message = format!("The TO parameter ('{value}') of the internal action 'send' is not an atom!");
                Failure::new("internal_action", message)
            })
        };
        // Each agent gets the message once, by whatever name it is listed.
        let (mut seen, home) = (FxHashSet::default(), call.cycle.services.platform());
        let is_first = |agent: &Aid| {
            let platform = if agent.platform == home { sym::EMPTY } else { agent.platform };
            seen.insert((agent.name, platform))
        };
        let all: Result<Vec<Aid>, Failure> = to.items().map(agent).collect();
        return all.map(|all| all.into_iter().filter(is_first).collect());
    }
    one(to).map(|agent| vec![agent]).ok_or_else(|| {
        let what = format!("TO parameter ('{to}') must be an atom, a string or a list of receivers!");
        Failure::wrong_argument(call.call, &what)
    })
}

pub(super) fn performative(call: &StepCall<'_, '_>) -> Result<Symbol, Failure> {
    match call.arg(1) {
        Value::Atom(name) => Ok(known_spelling(*name)),
        other => {
            let what = format!("illocutionary force parameter ('{other}') must be an atom!");
            Err(Failure::wrong_argument(call.call, &what))
        }
    }
}

fn known_spelling(performative: Symbol) -> Symbol {
    match performative.as_str() {
        "ask-one" => sym::ASK_ONE,
        "ask-all" => sym::ASK_ALL,
        "ask-how" => sym::ASK_HOW,
        "tell-how" => sym::TELL_HOW,
        "untell-how" => sym::UNTELL_HOW,
        _ => performative,
    }
}

pub(super) fn is_question(performative: Symbol) -> bool {
    matches!(performative, sym::ASK_ONE | sym::ASK_ALL | sym::ASK_HOW)
}

pub(super) fn check_exists(
    call: &mut StepCall<'_, '_>,
    receiver: Aid,
    performative: Symbol,
    content: &Value,
) -> Result<(), Failure> {
    if call.cycle.services.exists(receiver) {
        return Ok(());
    }
    Err(no_receiver(call, receiver, performative, content))
}

fn no_receiver(call: &mut StepCall<'_, '_>, receiver: Aid, performative: Symbol, content: &Value) -> Failure {
    call.cycle.mind.messages += 1;
    let id = call.cycle.mind.messages;
    let sender = call.cycle.aid.name;
    let text = format!(
        "Receiver '{receiver}' does not exist! Could not send <mid{id},{sender},{performative},{receiver},{content}>"
    );
    let mut failure = Failure::new("receiver_not_found", text);
    failure.annots.push(Value::term("agent_not_found", [Value::Atom(receiver.name)]));
    failure
}

/// `.broadcast(Performative, Content)`: sends to all agents but this one.
pub fn broadcast(call: &mut StepCall<'_, '_>) -> Result<StepProgress, Failure> {
    let Value::Atom(performative) = *call.arg(0) else {
        return Err(Failure::wrong_argument(call.call, "illocutionary force argument must be an atom"));
    };
    let performative = known_spelling(performative);
    let content = call.arg(1).clone();
    let question = if is_question(performative) { ExpectedAnswer::Open } else { ExpectedAnswer::No };
    let me = call.cycle.aid;
    for receiver in call.cycle.services.agents().into_iter().filter(|receiver| *receiver != me) {
        let id = call.cycle.question_id(question);
        call.cycle.send(receiver, performative, content.clone(), id, None);
    }
    Ok(StepProgress::Done)
}
