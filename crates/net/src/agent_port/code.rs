//! Code of a session's agents: requests that may read the disk or compile.

use whimbrel_acl::{Aid, Symbol};
use whimbrel_platform::audit::Refused;
use whimbrel_platform::policy::{Action, Principal};
use whimbrel_platform::session::{CodeName, SessionEvent, SharedSession};

use super::AgentPortState;

/// Carries out a session's event about an agent's code.
pub(super) fn see_to(port: &AgentPortState, session: &SharedSession, event: SessionEvent) {
    match event {
        SessionEvent::Code { agent, name, code } => {
            let lacks = has_code(port, name, &code) == Some(false);
            let mut session = session.lock();
            if lacks { session.ask_for_code(agent, code, port.host.now()) } else { session.handle_code(agent) }
        }
        SessionEvent::Admit { number, agent, name, code, bytes } => {
            let origin = code.origin().ok_or_else(|| "that is no code".to_owned());
            let admitted = origin.and_then(|origin| port.host.admit_code(name, &origin, bytes));
            let mut session = session.lock();
            match admitted {
                Ok(()) => session.note_brought(agent, &code),
                Err(why) => session.handle_inadmissible(number, why),
            }
            session.handle_code(agent);
            drop(session);
            // The session may have ended before.
            port.host.wake(Aid::local(name));
        }
        SessionEvent::Lack { number, agent, name, code, is_given } => {
            if !is_given && !may_run(port, name, &code) {
                return session.lock().deny_code(number, &code);
            }
            let bytes = code.origin().and_then(|origin| port.host.mobility()?.code(&origin));
            session.lock().give_code(number, agent, &code, bytes.as_ref());
        }
        _ => {}
    }
}

/// Returns true if this code is here and can run for an agent of this name; `None` if it cannot or may not.
fn has_code(port: &AgentPortState, name: Symbol, code: &CodeName) -> Option<bool> {
    port.host.mobility()?.has_code(name, &code.origin()?)
}

/// Returns true if this code runs here already for an agent of this name, so that a session may see it. Otherwise
/// records a refusal.
fn may_run(port: &AgentPortState, name: Symbol, code: &CodeName) -> bool {
    let may = has_code(port, name, code).is_some();
    if !may {
        let who = Principal::Session { name, node: port.host.node() };
        port.guard.refuse(&Refused::forbidden(&who.to_string(), Action::Code, &code.to_string()));
    }
    may
}
