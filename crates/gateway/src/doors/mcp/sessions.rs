//! Sessions of clients that speak a version before 2026-07-28.

use std::collections::VecDeque;
use std::time::Duration;

use rustc_hash::FxHashMap;
use whimbrel_interop::mcp::{CallId, ClientCapabilities, McpError, McpLogLevel, PendingQuestion};
use whimbrel_platform::Time;
use whimbrel_platform::limits::{MCP_SESSION_IDLE_MS, MCP_SESSIONS_MAX, MCP_SUBSCRIBED_RESOURCES_MAX};

/// Requests to the client, and calls, that a session remembers.
const REMEMBERED_MAX: usize = 1_024;

/// Session of a client.
pub(super) struct McpSession {
    /// Name of the client.
    client: String,
    pub capabilities: ClientCapabilities,
    pub log_level: McpLogLevel,
    /// Resources about which the client wants notifications.
    pub uris: Vec<String>,
    /// Calls by the identifiers of their requests, in JSON.
    pub calls: FxHashMap<String, CallId>,
    questions: FxHashMap<String, (PendingQuestion, String)>,
    next_question: u64,
    last: Time,
}

/// Sessions by their identifiers.
///
/// Many clients do not open another session when theirs is unknown after a restart of the node. So an identifier says
/// what the client can, and the session is made again of it. It gives no rights: each request has its own token.
#[derive(Default)]
pub(super) struct McpSessions {
    by_id: FxHashMap<String, McpSession>,
    /// Sessions that clients ended, which are not made again; the oldest are forgotten.
    ended: VecDeque<String>,
}

/// Returns the identifier of a new session of a client with these capabilities.
pub(super) fn session_id(number: u128, capabilities: ClientCapabilities) -> String {
    let letter = |has: bool, letter: char| if has { letter } else { '-' };
    let ClientCapabilities { elicitation, sampling, roots } = capabilities;
    let letters = [letter(elicitation, 'e'), letter(sampling, 's'), letter(roots, 'r')];
    format!("{number:032x}.{}", String::from_iter(letters))
}

/// Returns the capabilities that an identifier of a session names.
fn capabilities_of(id: &str) -> Option<ClientCapabilities> {
    let (number, letters) = id.split_once('.')?;
    let is_number = number.len() == 32 && number.bytes().all(|byte| byte.is_ascii_hexdigit());
    let mut letters = letters.chars();
    let mut has = |wanted: char| match letters.next()? {
        '-' => Some(false),
        letter => (letter == wanted).then_some(true),
    };
    let capabilities = ClientCapabilities { elicitation: has('e')?, sampling: has('s')?, roots: has('r')? };
    (is_number && letters.next().is_none()).then_some(capabilities)
}

impl McpSessions {
    /// Opens a session. If there are too many, the one that is idle for the longest time is forgotten.
    ///
    /// # Errors
    /// All of them are in use.
    pub fn open(
        &mut self,
        id: String,
        client: &str,
        capabilities: ClientCapabilities,
        now: Time,
    ) -> Result<(), McpError> {
        if self.by_id.len() >= MCP_SESSIONS_MAX {
            let idle = Duration::from_millis(MCP_SESSION_IDLE_MS);
            let oldest = self.by_id.iter().min_by_key(|(_, session)| session.last);
            let oldest = oldest.filter(|(_, session)| session.last + idle <= now).map(|(id, _)| id.clone());
            let Some(oldest) = oldest else {
                let text = format!("there are {MCP_SESSIONS_MAX} sessions: end some of them with DELETE");
                return Err(McpError::too_many(text));
            };
            self.by_id.remove(&oldest);
        }
        let session = McpSession {
            client: client.to_owned(),
            capabilities,
            log_level: McpLogLevel::Info,
            uris: Vec::new(),
            calls: FxHashMap::default(),
            questions: FxHashMap::default(),
            next_question: 0,
            last: now,
        };
        self.by_id.insert(id, session);
        Ok(())
    }

    /// Returns the session of a client.
    ///
    /// # Errors
    /// The session is over, unknown, or another client's.
    pub fn get(&mut self, id: &str, client: &str, now: Time) -> Result<&mut McpSession, McpError> {
        if !self.by_id.contains_key(id)
            && let Some(capabilities) = capabilities_of(id).filter(|_| !self.ended.iter().any(|ended| ended == id))
        {
            self.open(id.to_owned(), client, capabilities, now)?;
        }
        let session = self.by_id.get_mut(id).filter(|session| session.client == client);
        let session = session.ok_or_else(McpError::no_session)?;
        session.last = now;
        Ok(session)
    }

    /// Ends the session of a client. Returns its calls.
    ///
    /// # Errors
    /// The session is over, unknown, or another client's.
    pub fn end(&mut self, id: &str, client: &str, now: Time) -> Result<Vec<CallId>, McpError> {
        self.get(id, client, now)?;
        if self.ended.len() >= MCP_SESSIONS_MAX {
            self.ended.pop_front();
        }
        self.ended.push_back(id.to_owned());
        Ok(self.by_id.remove(id).map_or(Vec::new(), |session| session.calls.into_values().collect()))
    }
}

impl McpSession {
    /// Notes a call of this request.
    pub fn note_call(&mut self, request: String, call: CallId) {
        if self.calls.len() < REMEMBERED_MAX {
            self.calls.insert(request, call);
        }
    }

    /// Returns the identifier of a new request to the client.
    pub fn ask(&mut self, question: PendingQuestion, key: &str) -> String {
        self.next_question += 1;
        let id = format!("question-{}", self.next_question);
        if self.questions.len() >= REMEMBERED_MAX {
            self.questions.clear();
        }
        self.questions.insert(id.clone(), (question, key.to_owned()));
        id
    }

    /// Takes the request to the client of this identifier.
    pub fn answered(&mut self, id: &str) -> Option<(PendingQuestion, String)> {
        self.questions.remove(id)
    }

    /// Adds a resource about which the client wants notifications.
    ///
    /// # Errors
    /// There are too many.
    pub fn subscribe(&mut self, uri: &str) -> Result<(), McpError> {
        if self.uris.iter().any(|known| known == uri) {
            return Ok(());
        }
        if self.uris.len() >= MCP_SUBSCRIBED_RESOURCES_MAX {
            let text = format!("a session has at most {MCP_SUBSCRIBED_RESOURCES_MAX} subscriptions");
            return Err(McpError::invalid_params(text));
        }
        self.uris.push(uri.to_owned());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CAPABILITIES: ClientCapabilities = ClientCapabilities { elicitation: true, sampling: false, roots: false };

    #[test]
    fn sessions_belong_to_clients() {
        let mut sessions = McpSessions::default();
        sessions.open("s".into(), "alice", CAPABILITIES, Time(0)).expect("there is room");
        assert!(sessions.get("s", "alice", Time(0)).is_ok());
        assert_eq!(sessions.get("s", "mallory", Time(0)).map(|_| ()).map_err(|error| error.status), Err(404));
        assert!(sessions.end("s", "mallory", Time(0)).is_err() && sessions.end("s", "alice", Time(0)).is_ok());
        assert!(sessions.get("s", "alice", Time(0)).is_err());
    }

    #[test]
    fn unknown_session_is_made_again() {
        let mut before = McpSessions::default();
        let id = session_id(7, CAPABILITIES);
        before.open(id.clone(), "alice", CAPABILITIES, Time(0)).expect("there is room");
        let mut after = McpSessions::default();
        assert_eq!(after.get(&id, "alice", Time(0)).map(|session| session.capabilities).ok(), Some(CAPABILITIES));
        assert!(after.get(&id, "mallory", Time(0)).is_err());
        assert!(after.end(&id, "alice", Time(0)).is_ok() && after.get(&id, "alice", Time(0)).is_err());
        for other in ["s", "7.e--", &id.replace('e', "x"), &format!("{id}-"), &id.replace(".e--", ".-e-")] {
            assert_eq!(
                after.get(other, "alice", Time(0)).map(|_| ()).map_err(|error| error.status),
                Err(404),
                "{other}"
            );
        }
    }

    #[test]
    fn idle_sessions_make_room() {
        let mut sessions = McpSessions::default();
        let mut open = |number: usize, now| sessions.open(number.to_string(), "", CAPABILITIES, Time::from_ms(now));
        assert!((0..MCP_SESSIONS_MAX).all(|number| open(number, number as u64).is_ok()));
        assert!(open(MCP_SESSIONS_MAX, MCP_SESSION_IDLE_MS - 1).is_err());
        assert!(open(MCP_SESSIONS_MAX, MCP_SESSION_IDLE_MS).is_ok());
        assert!(sessions.get("0", "", Time(0)).is_err() && sessions.get("1", "", Time(0)).is_ok());
    }

    #[test]
    fn questions_are_answered_once() {
        let mut sessions = McpSessions::default();
        sessions.open("s".into(), "", CAPABILITIES, Time(0)).expect("there is room");
        let session = sessions.get("s", "", Time(0)).expect("it is open");
        let id = session.ask(PendingQuestion { call: CallId(1), number: 1 }, "key");
        assert!(session.answered(&id).is_some() && session.answered(&id).is_none());
    }
}
