//! OpenAPI 3.1 document of the routes. Its shapes come from the types that are read and written (JSON Schema 2020-12,
//! by schemars), its routes from the table: it cannot differ from the code.

use std::sync::LazyLock;

use axum::body::Bytes;
use schemars::generate::SchemaSettings;
use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value, json};
use whimbrel_platform::ams::LifecycleStep;

use super::table::{HttpRoute, RouteAccess, RouteAnswer, routes};
use whimbrel_operator::{Answer, Refusal};

/// Place of named shapes in the document.
const SHAPES: &str = "/components/schemas";

/// Life-cycle steps that operators may order.
const STEPS: [LifecycleStep; 5] = {
    use LifecycleStep::{Resume, Start, Suspend, Wait, Wake};
    [Start, Suspend, Resume, Wait, Wake]
};

static DOCUMENT: LazyLock<Bytes> = LazyLock::new(|| Bytes::from(made().to_string()));

/// Returns the document: JSON.
pub fn document() -> Bytes {
    DOCUMENT.clone()
}

fn made() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = SHAPES.into();
        settings.meta_schema = None;
    });
    let mut shapes = settings.into_generator();
    let refusal = shapes.subschema_for::<Refusal>();
    let mut paths = Map::new();
    for route in routes() {
        let described = described(&route, &mut shapes);
        // The router writes a star before a parameter that may contain slashes.
        let path = paths.entry(route.path.replace("{*", "{")).or_insert_with(|| json!({}));
        if let Some(methods) = path.as_object_mut() {
            methods.insert(route.method.to_owned(), described);
        }
    }
    let schemas = shapes.take_definitions(true);
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Whimbrel",
            "version": "1",
            "description": "A node of a Whimbrel platform, for programs and operators (docs/design/gateway.md)",
        },
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
            "responses": {
                "refused": {
                    "description": "Refusal with its reason: 400, 401, 403, 404, 405, 409, 429, 503 or 504",
                    "content": { "application/json": { "schema": refusal } },
                },
            },
        },
    })
}

/// Describes a route.
fn described(route: &HttpRoute, shapes: &mut SchemaGenerator) -> Value {
    let mut parameters: Vec<Value> = in_path(route.path).map(of_path).collect();
    if let Some(query) = route.query {
        parameters.extend(in_query(&query(shapes)));
    }
    let (status, answer) = told(route.answer, shapes);
    let mut described = json!({
        "summary": route.about,
        "parameters": parameters,
        "responses": { status: answer, "default": { "$ref": "#/components/responses/refused" } },
    });
    if let (RouteAnswer::Judgement(shape), Some(responses)) = (route.answer, described.get_mut("responses")) {
        let schema = shape(shapes).to_value();
        let content = json!({ "application/json": { "schema": schema } });
        responses["503"] = json!({ "description": "The node has faults", "content": content });
    }
    if let Some(object) = described.as_object_mut() {
        if let Some(body) = route.body {
            let schema = body(shapes);
            let body = json!({ "required": true, "content": { "application/json": { "schema": schema } } });
            object.insert("requestBody".to_owned(), body);
        }
        if matches!(route.who, RouteAccess::Viewer | RouteAccess::Admin) {
            object.insert("security".to_owned(), json!([{ "token": [] }]));
            let role = if route.who == RouteAccess::Admin { "admin" } else { "viewer" };
            object.insert("x-whimbrel-role".to_owned(), json!(role));
        }
    }
    described
}

fn in_path(path: &str) -> impl Iterator<Item = &str> {
    path.split('/')
        .filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
        .map(|name| name.trim_start_matches('*'))
}

fn of_path(name: &str) -> Value {
    let schema = match name {
        "step" => json!({ "type": "string", "enum": STEPS }),
        _ => json!({ "type": "string" }),
    };
    json!({ "name": name, "in": "path", "required": true, "schema": schema })
}

/// Describes the members of a shape as query parameters.
fn in_query(shape: &Schema) -> Vec<Value> {
    let members = shape.get("properties").and_then(Value::as_object);
    let parameter = |(name, schema): (&String, &Value)| json!({ "name": name, "in": "query", "schema": schema });
    members.into_iter().flatten().map(parameter).collect()
}

/// Status and shape of the answer to a request that succeeds.
fn told(answer: RouteAnswer, shapes: &mut SchemaGenerator) -> (&'static str, Value) {
    let json_of =
        |schema: Value| json!({ "description": "Success", "content": { "application/json": { "schema": schema } } });
    match answer {
        RouteAnswer::Answers(names) => {
            let answers: Vec<Value> = names.iter().filter_map(|name| answer_named(name, shapes)).collect();
            ("200", json_of(if let [one] = answers.as_slice() { one.clone() } else { json!({ "oneOf": answers }) }))
        }
        RouteAnswer::Json(shape) | RouteAnswer::Judgement(shape) => ("200", json_of(shape(shapes).to_value())),
        RouteAnswer::AnyJson => ("200", json_of(json!({ "type": "object" }))),
        RouteAnswer::File(kind) => ("200", json!({ "description": "File", "content": { kind: {} } })),
        RouteAnswer::Socket(protocol) => {
            ("101", json!({ "description": format!("WebSocket with the subprotocol {protocol}") }))
        }
        RouteAnswer::Elsewhere => ("308", json!({ "description": "Redirect" })),
    }
}

/// Returns the schema of the node's answer with this name.
fn answer_named(name: &str, shapes: &mut SchemaGenerator) -> Option<Value> {
    shapes.subschema_for::<Answer>();
    let all = shapes.definitions().get("Answer")?.get("oneOf")?.as_array()?;
    all.iter().find(|one| one.pointer("/properties/answer/const").and_then(Value::as_str) == Some(name)).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn document_has_every_route() {
        let document: Value = serde_json::from_slice(&document()).expect("it is JSON");
        let routes = routes();
        for route in &routes {
            let at = &document["paths"][route.path.replace("{*", "{")][route.method];
            assert_eq!(at["summary"], route.about, "{} {}", route.method, route.path);
            let (_, answer) = at["responses"].as_object().expect("responses").iter().next().expect("one");
            if let RouteAnswer::Answers(names) = route.answer {
                let schema = &answer["content"]["application/json"]["schema"];
                let consts: Vec<&Value> = match schema["oneOf"].as_array() {
                    Some(several) => several.iter().map(|one| &one["properties"]["answer"]["const"]).collect(),
                    None => vec![&schema["properties"]["answer"]["const"]],
                };
                assert_eq!(consts, names.iter().collect::<Vec<_>>(), "{}", route.path);
            }
        }
        let documented = document["paths"].as_object().expect("paths").values();
        let documented: usize = documented.map(|methods| methods.as_object().map_or(0, Map::len)).sum();
        assert_eq!(documented, routes.len(), "and nothing else");
    }

    #[test]
    fn messages_match_the_document() {
        let document: Value = serde_json::from_slice(&document()).expect("it is JSON");
        let shape = &document["components"]["schemas"]["Message"];
        assert_eq!(shape["required"], json!(["performative"]));
        let members = shape["properties"].as_object().expect("members");
        let vectors = include_str!("../../../../conformance/acl/messages.json");
        let vectors: Vec<Value> = serde_json::from_str(vectors).expect("vectors");
        let said: std::collections::BTreeSet<&String> =
            vectors.iter().filter_map(|vector| vector["message"].as_object()).flat_map(Map::keys).collect();
        assert_eq!(said, members.keys().collect(), "members of all messages, and those of the document");
        for path in ["/paths/~1api~1v1~1messages/post/requestBody", "/components/schemas/Sending/properties/message"] {
            let told = document.pointer(path).expect(path).to_string();
            assert!(told.contains("schemas/Sending") || told.contains("schemas/Message"), "{path}: {told}");
        }
    }

    #[test]
    fn document_references_resolve() {
        let text = String::from_utf8(document().to_vec()).expect("text");
        let document: Value = serde_json::from_str(&text).expect("it is JSON");
        let references: Vec<&str> =
            text.split("\"$ref\":\"#").skip(1).filter_map(|rest| rest.split('"').next()).collect();
        assert!(references.len() > 20, "{}", references.len());
        for reference in references {
            assert!(document.pointer(reference).is_some(), "{reference}");
        }
        for name in ["Refusal", "AgentInfo", "Spawning", "Sending", "Health"] {
            assert!(document["components"]["schemas"][name].is_object(), "{name}");
        }
    }
}
