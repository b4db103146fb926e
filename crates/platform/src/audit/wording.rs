//! Wording of audit entries: a sentence that says who did what, on what, from where, and how often.

use std::fmt::Write as _;

use super::{Folded, Outcome};

/// Audit entry to be worded, as the log has it.
#[derive(Clone, Copy, Debug)]
pub struct WordedEntry<'a> {
    /// Outcome, as the log writes it: `allowed`, or the reason of a refusal.
    pub reason: &'a str,
    /// Party, as the log writes it.
    pub who: &'a str,
    /// Way of the request; may be empty.
    pub from: &'a str,
    /// Action; may be empty.
    pub action: &'a str,
    /// Object of the action; may be empty.
    pub object: &'a str,
    /// Further details; may be empty.
    pub detail: &'a str,
    /// Number of equal entries.
    pub count: u64,
}

impl<'a> From<&'a Folded> for WordedEntry<'a> {
    fn from(entry: &'a Folded) -> Self {
        let Folded { outcome, who, from, action, object, detail, count, .. } = entry;
        Self { reason: outcome.as_str(), who, from, action, object, detail, count: *count }
    }
}

impl WordedEntry<'_> {
    /// Returns the sentence for people.
    pub fn sentence(&self) -> String {
        let Self { reason, from, action, object, detail, count, .. } = *self;
        let mut text = party(self.who);
        let (done, wanted) = verbs(action);
        match (reason == Outcome::Allowed.as_str(), reason, action) {
            (true, ..) => push(&mut text, &[done, object]),
            (false, "forbidden", "") => text.push_str(" was refused: the policy or its token forbids it"),
            (false, "forbidden", _) => push(&mut text, &["may not", wanted, object]),
            (false, _, "") => push(&mut text, &["was refused:", why(reason)]),
            (false, ..) => push(&mut text, &["could not", wanted, object, "because", why(reason)]),
        }
        match from {
            "" => {}
            "control socket" => text.push_str(" from this machine"),
            _ => match from.strip_prefix("http ") {
                Some(address) => push(&mut text, &["over HTTP from", address]),
                None => push(&mut text, &["from the", from]),
            },
        }
        // Writing to a text cannot fail.
        if count > 1 {
            let _ = write!(text, ", {count} times");
        }
        if !detail.is_empty() {
            let _ = write!(text, " ({detail})");
        }
        text
    }
}

fn push(text: &mut String, words: &[&str]) {
    for word in words.iter().filter(|word| !word.is_empty()) {
        text.push(' ');
        text.push_str(word);
    }
}

/// Returns a party in words.
fn party(who: &str) -> String {
    match who {
        "" => return "a party".to_owned(),
        "others" => return "several parties".to_owned(),
        "audit" => return "the audit log".to_owned(),
        "operator" => return "the user who started the node".to_owned(),
        "token:admin" => return "an administrator".to_owned(),
        _ => {}
    }
    if let Some(viewer) = who.strip_prefix("token:viewer") {
        return format!("a viewer{viewer}");
    }
    if who.parse::<core::net::IpAddr>().is_ok() {
        return format!("a stranger at {who}");
    }
    // A principal: `agent:spy of node:n3`.
    who.split(' ').map(|word| word.replacen(':', " ", 1)).collect::<Vec<_>>().join(" ")
}

/// Returns an action as something done, and as something wanted. The object follows.
fn verbs(action: &str) -> (&str, &str) {
    match action {
        "spawn" | "create" => ("created", "create"),
        "kill" => ("ended", "end"),
        "move" => ("moved", "move"),
        "recall" => ("called home", "call home"),
        "clone" => ("cloned", "clone"),
        "suspend" => ("suspended", "suspend"),
        "resume" => ("resumed", "resume"),
        "send" => ("sent a message to", "send to"),
        "publish" => ("published to", "publish to"),
        "subscribe" => ("subscribed to", "subscribe to"),
        "register" => ("registered", "register"),
        "modify" => ("changed the services of", "change the services of"),
        "deregister" => ("deregistered", "deregister"),
        "debug" => ("paused or stepped", "pause or step"),
        "breakpoint" => ("changed a breakpoint:", "change a breakpoint:"),
        "believe" => ("gave a belief to", "give a belief to"),
        "forget" => ("took a belief from", "take a belief from"),
        "pursue" => ("gave a goal to", "give a goal to"),
        "query" => ("put a question to the mind of", "put a question to the mind of"),
        "perform" => ("ran a plan body in", "run a plan body in"),
        "load" => ("loaded", "load"),
        "stop" => ("stopped the platform:", "stop the platform:"),
        "drain" => ("drained", "drain"),
        "undrain" => ("ended the draining of", "end the draining of"),
        "code" => ("brought the code", "bring the code"),
        "teach" => ("taught plans to", "teach plans to"),
        "policy" => ("started the node with the policy", "use the policy"),
        "enrol" => ("enrolled", "enrol"),
        "" => ("acted on", "act on"),
        other => (other, other),
    }
}

/// Returns the reason of a refusal in words.
fn why(reason: &str) -> &str {
    match reason {
        "forbidden" => "it is forbidden",
        "forged" => "its message names another sender",
        "bad_signature" => "its signature is missing or wrong",
        "bad_certificate" => "its certificate is missing or not trusted",
        "revoked" => "its certificate is revoked",
        "expired" => "its certificate is not valid now",
        "wrong_address" => "its certificate is for another address",
        "impostor" => "its certificate names another",
        "bad_token" => "its token is wrong",
        "downgrade" => "it asked for less security than the node has",
        "replayed" => "its message came before",
        "malformed" => "its bytes cannot be read",
        "too_many" => "there were too many at once",
        "quota" => "it exceeded a quota",
        "wrong_origin" => "it was asked by a page of another origin",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::super::RefusalReason;
    use super::*;

    fn sentence(parts: [&str; 6], count: u64) -> String {
        let [reason, who, from, action, object, detail] = parts;
        WordedEntry { reason, who, from, action, object, detail, count }.sentence()
    }

    #[test]
    fn entries_are_sentences() {
        for (parts, count, expected) in [
            (
                ["forbidden", "agent:spy of node:n3", "", "send", "vault", ""],
                1,
                "agent spy of node n3 may not send to vault",
            ),
            (
                ["allowed", "token:admin", "http 192.0.2.9", "kill", "bob", ""],
                1,
                "an administrator ended bob over HTTP from 192.0.2.9",
            ),
            (
                ["bad_token", "192.0.2.7", "", "", "", "GET /api/v1/node"],
                45_000,
                "a stranger at 192.0.2.7 was refused: its token is wrong, 45000 times (GET /api/v1/node)",
            ),
            (
                ["allowed", "user:0", "control socket", "move", "bob to n2", "process 4711: not there"],
                2,
                "user 0 moved bob to n2 from this machine, 2 times (process 4711: not there)",
            ),
            (
                ["quota", "agent:solver", "", "move", "n2", ""],
                1,
                "agent solver could not move n2 because it exceeded a quota",
            ),
            (
                ["forbidden", "token:viewer from ::1", "", "", "", "POST"],
                1,
                "a viewer from ::1 was refused: the policy or its token forbids it (POST)",
            ),
        ] {
            assert_eq!(sentence(parts, count), expected);
        }
    }

    #[test]
    fn every_reason_has_words() {
        for reason in RefusalReason::ALL {
            assert!(why(reason.as_str()).contains(' '), "{reason}");
        }
    }
}
