//! Schemas of services, as entries of the DF say them: a list of parameters, or JSON Schema as text or as a map.

use serde_json::{Value as Json, json};
use whimbrel_acl::{NameAllowance, Symbol, Value};

use crate::json::{JsonMembers, json_of, text_of, value_of};

/// Schema of a service's arguments or of its result.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ServiceSchema {
    /// Parameters in order: each is an argument of the goal.
    Named(Vec<ServiceParameter>),
    /// JSON Schema: all members together are one argument, a map.
    Whole(Json),
}

/// Parameter of a service.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ServiceParameter {
    pub name: String,
    pub kind: ParameterKind,
    pub is_required: bool,
    pub about: Option<String>,
}

/// Type of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ParameterKind {
    Text,
    /// Text that becomes an atom.
    Atom,
    Integer,
    Number,
    Boolean,
    List,
    Map,
    Any,
}

impl ParameterKind {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "string" | "text" => Self::Text,
            "atom" => Self::Atom,
            "integer" => Self::Integer,
            "number" => Self::Number,
            "boolean" => Self::Boolean,
            "array" | "list" => Self::List,
            "object" | "map" => Self::Map,
            "any" => Self::Any,
            _ => return None,
        })
    }

    fn schema_type(self) -> Option<&'static str> {
        Some(match self {
            Self::Text | Self::Atom => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::List => "array",
            Self::Map => "object",
            Self::Any => return None,
        })
    }
}

/// Returns true if JSON is of a type of JSON Schema.
fn is_of_type(json: &Json, name: &str) -> bool {
    match name {
        "string" => json.is_string(),
        "integer" => json.is_i64() || json.is_u64() || json.as_f64().is_some_and(|n| n.fract() == 0.0),
        "number" => json.is_number(),
        "boolean" => json.is_boolean(),
        "array" => json.is_array(),
        "object" => json.is_object(),
        "null" => json.is_null(),
        _ => true,
    }
}

impl ServiceSchema {
    /// Reads a property: a list of parameters as `item(string)`, JSON Schema as text, or as a map.
    pub fn read(property: &Value) -> Option<Self> {
        match property {
            Value::Nil | Value::List(_) => property.items().map(parameter).collect::<Option<_>>().map(Self::Named),
            Value::Str(text) => serde_json::from_str(text).ok().and_then(Self::whole),
            Value::Map(_) | Value::Record(_) => Self::whole(json_of(property)),
            _ => None,
        }
    }

    fn whole(mut schema: Json) -> Option<Self> {
        let members = schema.as_object_mut()?;
        if members.get("type").is_none_or(|kind| kind != "object") {
            members.insert("type".to_owned(), json!("object"));
        }
        let is_other_draft =
            members.get("$schema").and_then(Json::as_str).is_some_and(|draft| !draft.contains("2020-12"));
        if is_other_draft {
            members.remove("$schema");
        }
        Some(Self::Whole(schema))
    }

    /// Returns the schema as JSON Schema.
    pub fn to_json(&self) -> Json {
        let parameters = match self {
            Self::Whole(schema) => return schema.clone(),
            Self::Named(parameters) => parameters,
        };
        let property = |parameter: &ServiceParameter| {
            let mut schema = JsonMembers::new();
            if let Some(kind) = parameter.kind.schema_type() {
                schema.insert("type".to_owned(), json!(kind));
            }
            if let Some(about) = &parameter.about {
                schema.insert("description".to_owned(), json!(about));
            }
            (parameter.name.clone(), Json::Object(schema))
        };
        let properties: JsonMembers = parameters.iter().map(property).collect();
        let required: Vec<&str> = parameters.iter().filter(|it| it.is_required).map(|it| it.name.as_str()).collect();
        let mut schema = json!({"type": "object", "properties": properties, "additionalProperties": false});
        if let (false, Some(members)) = (required.is_empty(), schema.as_object_mut()) {
            members.insert("required".to_owned(), json!(required));
        }
        schema
    }

    /// Returns the parameters, if the schema is a list of them.
    pub fn parameters(&self) -> &[ServiceParameter] {
        match self {
            Self::Named(parameters) => parameters,
            Self::Whole(_) => &[],
        }
    }

    /// Checks JSON against the types of members, the required members, and unknown ones if the schema forbids them.
    ///
    /// # Errors
    /// Mismatch, in words.
    pub fn check(&self, members: &JsonMembers) -> Result<(), String> {
        check(&self.to_json(), members)
    }

    /// Returns the content of a request to an agent for its service: the goal with its arguments.
    ///
    /// # Errors
    /// The arguments do not fit the schema, or an atom would be a further new name.
    pub fn goal(&self, service: Symbol, arguments: &JsonMembers) -> Result<Value, String> {
        self.check(arguments)?;
        let args = match self {
            Self::Whole(_) => vec![value_of(&Json::Object(arguments.clone()))],
            Self::Named(parameters) => parameters
                .iter()
                .map(|parameter| match (arguments.get(&parameter.name), parameter.kind) {
                    (None, _) => Value::Null,
                    (Some(Json::String(name)), ParameterKind::Atom) => Value::atom(name.as_str()),
                    (Some(argument), _) => value_of(argument),
                })
                .collect(),
        };
        if NameAllowance::is_refused() {
            return Err("the arguments have more new names than this node keeps for clients".to_owned());
        }
        Ok(if args.is_empty() { Value::atom(service) } else { Value::term(service, args) })
    }

    /// Returns a result as the members that this schema has: a map, or a term or list with a value for each.
    pub fn structured(&self, result: &Value) -> Option<JsonMembers> {
        if let (Value::Map(_) | Value::Record(_), Json::Object(members)) = (result, json_of(result)) {
            return Some(members);
        }
        let parameters = self.parameters();
        let values: Vec<&Value> = match result {
            Value::List(_) => result.items().collect(),
            Value::Term(_) => result.args().iter().collect(),
            other => vec![other],
        };
        let pair = |(parameter, value): (&ServiceParameter, &Value)| (parameter.name.clone(), json_of(value));
        let fits = !parameters.is_empty() && parameters.len() == values.len();
        fits.then(|| parameters.iter().zip(values).map(pair).collect())
    }
}

fn check(schema: &Json, members: &JsonMembers) -> Result<(), String> {
    let empty = JsonMembers::new();
    let properties = schema.get("properties").and_then(Json::as_object).unwrap_or(&empty);
    let required = schema.get("required").and_then(Json::as_array).into_iter().flatten();
    if let Some(missing) = required.filter_map(Json::as_str).find(|name| !members.contains_key(*name)) {
        return Err(format!("argument `{missing}` is missing"));
    }
    for (name, value) in members {
        let Some(property) = properties.get(name) else {
            if schema.get("additionalProperties") == Some(&Json::Bool(false)) {
                return Err(format!("there is no argument `{}`", name.chars().take(80).collect::<String>()));
            }
            continue;
        };
        let fits = match property.get("type") {
            Some(Json::String(kind)) => is_of_type(value, kind),
            Some(Json::Array(kinds)) => kinds.iter().filter_map(Json::as_str).any(|kind| is_of_type(value, kind)),
            _ => true,
        };
        if !fits {
            let kind = property.get("type").map(ToString::to_string).unwrap_or_default();
            return Err(format!("argument `{name}` is not of type {kind}"));
        }
        let choices = property.get("enum").and_then(Json::as_array);
        if choices.is_some_and(|choices| !choices.contains(value)) {
            return Err(format!("argument `{name}` is none of the values that the schema lists"));
        }
    }
    Ok(())
}

/// Reads a parameter: `item`, `item(string)`, `item(integer, optional, "Number of pieces")`.
fn parameter(term: &Value) -> Option<ServiceParameter> {
    let name = match term {
        Value::Str(name) => name.to_string(),
        _ => term.functor()?.as_str().to_owned(),
    };
    let mut parameter = ServiceParameter { name, kind: ParameterKind::Text, is_required: true, about: None };
    for fact in term.args() {
        match fact {
            Value::Str(about) => parameter.about = Some(about.to_string()),
            other if text_of(other) == "optional" => parameter.is_required = false,
            other => parameter.kind = ParameterKind::named(&text_of(other))?,
        }
    }
    Some(parameter)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(json: Json) -> JsonMembers {
        json.as_object().cloned().expect("an object")
    }

    fn price() -> ServiceSchema {
        let item = Value::term("item", [Value::atom("string"), Value::from("What is bought")]);
        let count = Value::term("count", [Value::atom("integer"), Value::atom("optional")]);
        ServiceSchema::read(&Value::list([item, count])).expect("both are parameters")
    }

    #[test]
    fn parameters_become_schema() {
        let schema = json!({
            "type": "object", "additionalProperties": false, "required": ["item"],
            "properties": {"item": {"type": "string", "description": "What is bought"}, "count": {"type": "integer"}},
        });
        assert_eq!(price().to_json(), schema);
        assert_eq!(ServiceSchema::read(&Value::atom("string")), None);
        assert_eq!(ServiceSchema::read(&Value::list([Value::term("a", [Value::atom("strange")])])), None);
    }

    #[test]
    fn arguments_become_goal() {
        let goal = |json| price().goal("price".into(), &members(json));
        let both = Value::term("price", [Value::from("book"), Value::Int(2)]);
        assert_eq!(goal(json!({"item": "book", "count": 2})), Ok(both));
        assert_eq!(goal(json!({"item": "book"})), Ok(Value::term("price", [Value::from("book"), Value::Null])));
        assert_eq!(goal(json!({"count": 2})), Err("argument `item` is missing".to_owned()));
        assert_eq!(goal(json!({"item": 5})), Err("argument `item` is not of type \"string\"".to_owned()));
        assert_eq!(goal(json!({"item": "a", "x": 1})), Err("there is no argument `x`".to_owned()));
        let none = ServiceSchema::read(&Value::Nil).expect("no parameters");
        assert_eq!(none.goal("stop".into(), &JsonMembers::new()), Ok(Value::atom("stop")));
    }

    #[test]
    fn schema_text_takes_map() {
        let text =
            r#"{"$schema": "http://json-schema.org/draft-07/schema#", "properties": {"n": {"type": "integer"}}}"#;
        let whole = ServiceSchema::read(&Value::from(text)).expect("it is JSON");
        assert_eq!(whole.to_json(), json!({"type": "object", "properties": {"n": {"type": "integer"}}}));
        let map = Value::map([(Value::from("n"), Value::Int(1))]);
        assert_eq!(whole.goal("count".into(), &members(json!({"n": 1}))), Ok(Value::term("count", [map])));
    }

    #[test]
    fn result_is_structured_by_names() {
        let result = ServiceSchema::read(&Value::list([Value::term("euros", [Value::atom("number")])])).expect("one");
        let euros = Some(members(json!({"euros": 12})));
        assert_eq!(result.structured(&Value::term("price", [Value::Num(12.0)])), euros);
        assert_eq!(result.structured(&Value::Int(12)), euros);
        assert_eq!(result.structured(&Value::term("price", [Value::Int(1), Value::Int(2)])), None);
    }
}
