//! Questions of agents to the client of a call, as requests of MCP, and their answers.

use serde_json::{Value as Json, json};
use whimbrel_acl::{AclMessage, Performative, Text, Value};
use whimbrel_platform::limits::MCP_QUESTION_REQUESTS_MAX;

use super::headers::ClientCapabilities;
use crate::json::{JsonMembers, json_of, text_of, value_of};

/// Key and field of a question that names none.
const ANSWER: &str = "answer";

/// Method of a request to the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputMethod {
    /// Form for the user.
    Elicit,
    /// Messages for the language model.
    Sample,
    /// List of its folders.
    ListRoots,
}

impl InputMethod {
    /// Returns the method's name in MCP.
    pub fn name(self) -> &'static str {
        match self {
            Self::Elicit => "elicitation/create",
            Self::Sample => "sampling/createMessage",
            Self::ListRoots => "roots/list",
        }
    }

    fn named(name: &str) -> Option<Self> {
        [Self::Elicit, Self::Sample, Self::ListRoots].into_iter().find(|method| method.name() == name)
    }

    /// Returns the capability that a client needs.
    pub fn capability(self) -> &'static str {
        match self {
            Self::Elicit => "elicitation",
            Self::Sample => "sampling",
            Self::ListRoots => "roots",
        }
    }
}

/// Request to the client.
#[derive(Clone, Debug, PartialEq)]
pub struct InputRequest {
    /// Key of its answer.
    pub key: String,
    /// Method.
    pub method: InputMethod,
    /// Parameters.
    pub params: Json,
}

impl InputRequest {
    /// Returns the request as JSON, as an `input_required` result has it.
    pub fn to_json(&self) -> Json {
        json!({"method": self.method.name(), "params": self.params})
    }

    /// Returns true if an answer has the form that the method asks for.
    pub(super) fn is_answered_by(&self, answer: &Json) -> bool {
        let text = |name: &str| answer.get(name).and_then(Json::as_str);
        match self.method {
            InputMethod::Elicit => match text("action") {
                Some("accept") => self.accepts(answer.get("content").and_then(Json::as_object)),
                Some("decline" | "cancel") => true,
                _ => false,
            },
            InputMethod::Sample => text("role").is_some() && answer.get("content").is_some(),
            InputMethod::ListRoots => answer.get("roots").is_some_and(Json::is_array),
        }
    }

    /// Returns true if a form has all fields that are required.
    fn accepts(&self, form: Option<&JsonMembers>) -> bool {
        let required = self.params.get("requestedSchema").and_then(|schema| schema.get("required"));
        let required = required.and_then(Json::as_array);
        let mut names = required.into_iter().flatten().filter_map(Json::as_str);
        names.all(|name| form.is_some_and(|form| form.contains_key(name)))
    }
}

/// Question of an agent.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct AgentInquiry {
    pub requests: Vec<InputRequest>,
    /// True if the answer is that of the only field, not a map.
    is_plain: bool,
    /// True if answers are whole objects of MCP.
    is_raw: bool,
    /// Question to quote.
    pub reply_with: Option<Text>,
}

/// Reads the question that a message asks. A text asks for a text. `elicit(Message, Schema)` and
/// `elicit(Key, Message, Schema)` ask for a form, `input(Key, Method, Params)` for anything, and `inputs([..])` for
/// several things.
pub(super) fn inquiry_of(message: &AclMessage) -> AgentInquiry {
    let content = &message.content;
    let reply_with = message.extras().reply_with.clone();
    let functor = content.functor().map(|functor| functor.as_str());
    let read = match (functor, content.args()) {
        (Some("inputs"), [list]) if list.is_list() => {
            let requests: Option<Vec<_>> = list.items().take(MCP_QUESTION_REQUESTS_MAX).map(request_of).collect();
            requests.filter(|requests| !requests.is_empty()).map(|requests| (requests, true))
        }
        (Some("input"), _) => request_of(content).map(|request| (vec![request], true)),
        (Some("elicit"), _) => request_of(content).map(|request| (vec![request], false)),
        _ => None,
    };
    if let Some((requests, is_raw)) = read {
        return AgentInquiry { requests, is_plain: false, is_raw, reply_with };
    }
    let schema = json!({"type": "object", "properties": {ANSWER: {"type": "string"}}, "required": [ANSWER]});
    let request = elicitation(ANSWER, &text_of(content), schema);
    AgentInquiry { requests: vec![request], is_plain: true, is_raw: false, reply_with }
}

fn elicitation(key: &str, message: &str, schema: Json) -> InputRequest {
    let params = json!({"mode": "form", "message": message, "requestedSchema": schema});
    InputRequest { key: key.to_owned(), method: InputMethod::Elicit, params }
}

fn request_of(term: &Value) -> Option<InputRequest> {
    match (term.functor()?.as_str(), term.args()) {
        ("elicit", [message, schema]) => Some(elicitation(ANSWER, &text_of(message), form_of(schema)?)),
        ("elicit", [key, message, schema]) => Some(elicitation(&text_of(key), &text_of(message), form_of(schema)?)),
        ("input", [key, method, params]) => {
            let method = InputMethod::named(&text_of(method))?;
            Some(InputRequest { key: text_of(key), method, params: object_of(params)? })
        }
        _ => None,
    }
}

/// Returns the schema of a form: a list of fields as `name(string)`, or JSON Schema.
fn form_of(schema: &Value) -> Option<Json> {
    let mut schema = super::schema::ServiceSchema::read(schema)?.to_json();
    // Forms have no further members.
    schema.as_object_mut()?.remove("additionalProperties");
    if schema.get("properties").is_none() {
        schema.as_object_mut()?.insert("properties".to_owned(), json!({}));
    }
    Some(schema)
}

fn object_of(params: &Value) -> Option<Json> {
    let json = match params {
        Value::Str(text) => serde_json::from_str(text).ok()?,
        Value::Null => json!({}),
        other => json_of(other),
    };
    json.is_object().then_some(json)
}

impl AgentInquiry {
    /// Drops the requests that the client cannot answer.
    pub fn restrict(&mut self, capabilities: ClientCapabilities) {
        self.requests.retain(|request| capabilities.has(request.method.capability()));
    }

    /// Returns the requests without a valid answer among these.
    pub fn open(&self, answers: &JsonMembers) -> Vec<InputRequest> {
        let is_open =
            |request: &&InputRequest| answers.get(&request.key).is_none_or(|answer| !request.is_answered_by(answer));
        self.requests.iter().filter(is_open).cloned().collect()
    }

    /// Returns the performative and the content of the answer to the agent.
    pub fn answer(&self, answers: &JsonMembers) -> (Performative, Value) {
        if self.is_raw {
            let pair = |request: &InputRequest| {
                let answer = answers.get(&request.key).map_or(Value::Null, value_of);
                (Value::from(request.key.as_str()), answer)
            };
            return (Performative::Inform, Value::map(self.requests.iter().map(pair)));
        }
        let answer = self.requests.first().and_then(|request| answers.get(&request.key));
        let text = |name: &str| answer.and_then(|answer| answer.get(name)).and_then(Json::as_str);
        match (text("action"), answer.and_then(|answer| answer.get("content"))) {
            (Some("accept"), Some(form)) if self.is_plain => {
                (Performative::Inform, form.get(ANSWER).map_or(Value::Null, value_of))
            }
            (Some("accept"), form) => (Performative::Inform, form.map_or(Value::Null, value_of)),
            (Some("cancel"), _) => (Performative::Refuse, Value::atom("cancelled")),
            _ => (Performative::Refuse, Value::atom("declined")),
        }
    }
}

#[cfg(test)]
mod tests {
    use whimbrel_acl::Aid;

    use super::*;

    fn asked(content: Value) -> AgentInquiry {
        inquiry_of(&AclMessage::new(Performative::QueryRef, Aid::local("a"), Aid::local("b"), content))
    }

    fn answers(json: Json) -> JsonMembers {
        json.as_object().cloned().expect("an object")
    }

    #[test]
    fn text_asks_for_text() {
        let inquiry = asked("Which colour?".into());
        let right = answers(json!({"answer": {"action": "accept", "content": {"answer": "red"}}}));
        assert_eq!((inquiry.open(&right).len(), inquiry.open(&JsonMembers::new()).len()), (0, 1));
        assert_eq!(inquiry.answer(&right), (Performative::Inform, Value::from("red")));
        let declined = answers(json!({"answer": {"action": "decline"}}));
        assert!(inquiry.open(&declined).is_empty());
        assert_eq!(inquiry.answer(&declined).0, Performative::Refuse);
    }

    #[test]
    fn wrong_answers_leave_question_open() {
        let fields = Value::list([Value::term("name", [Value::atom("string")])]);
        let inquiry = asked(Value::term("elicit", ["user".into(), "Who?".into(), fields]));
        for wrong in [json!({"user": 5}), json!({"other": {"action": "accept"}}), json!({"user": {"action": "accept"}})]
        {
            assert_eq!(inquiry.open(&answers(wrong.clone())).len(), 1, "{wrong}");
        }
        let right = answers(json!({"user": {"action": "accept", "content": {"name": "Ada"}}, "more": 1}));
        assert!(inquiry.open(&right).is_empty());
        let map = Value::map([(Value::from("name"), Value::from("Ada"))]);
        assert_eq!(inquiry.answer(&right), (Performative::Inform, map));
    }

    #[test]
    fn incapable_clients_are_spared() {
        let input = |key: &str, method: &str| Value::term("input", [key.into(), method.into(), Value::from("{}")]);
        let list = [input("a", "sampling/createMessage"), input("b", "roots/list")];
        let mut inquiry = asked(Value::term("inputs", [Value::list(list)]));
        inquiry.restrict(ClientCapabilities { roots: true, ..ClientCapabilities::default() });
        assert_eq!(inquiry.requests.len(), 1);
        assert_eq!(inquiry.requests[0].to_json(), json!({"method": "roots/list", "params": {}}));
    }
}
