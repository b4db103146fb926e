//! The document that describes the routes, and whether they are as it says.

use super::*;

/// Returns the faults of a value, by a shape of JSON Schema as the document has them. An unknown keyword is a fault,
/// too.
fn faults(value: &Value, schema: &Value, document: &Value) -> Vec<String> {
    let Some(schema) = schema.as_object() else {
        return if schema == &Value::Bool(true) { Vec::new() } else { vec![format!("nothing fits {schema}")] };
    };
    let mut found = Vec::new();
    let mut fault = |text: String| found.push(text);
    let fits = |schema: &Value| faults(value, schema, document).is_empty();
    for (word, what) in schema {
        let list = || what.as_array().map(Vec::as_slice).unwrap_or_default();
        match word.as_str() {
            "description" | "default" | "format" | "minimum" | "maximum" | "title" => {}
            "$ref" => {
                let path = what.as_str().expect("a path").trim_start_matches('#');
                faults(value, document.pointer(path).expect("it is there"), document).into_iter().for_each(&mut fault);
            }
            "type" => {
                let kinds = if what.is_array() { list().to_vec() } else { vec![what.clone()] };
                let is_one = |kind: &Value| match kind.as_str().expect("a kind") {
                    "object" => value.is_object(),
                    "array" => value.is_array(),
                    "string" => value.is_string(),
                    "boolean" => value.is_boolean(),
                    "null" => value.is_null(),
                    "integer" => value.is_u64() || value.is_i64(),
                    "number" => value.is_number(),
                    other => panic!("{other}"),
                };
                if !kinds.iter().any(is_one) {
                    fault(format!("{value} is not {what}"));
                }
            }
            "const" if value != what => fault(format!("{value} is not {what}")),
            "enum" if !list().contains(value) => fault(format!("{value} is none of {what}")),
            "const" | "enum" => {}
            "required" => {
                let missing = list().iter().filter(|name| value.get(name.as_str().expect("a name")).is_none());
                missing.for_each(|name| fault(format!("{name} is missing in {value}")));
            }
            "properties" => {
                let members = what.as_object().expect("members").iter();
                for (name, member) in members.filter_map(|(name, schema)| Some((value.get(name)?, schema))) {
                    faults(name, member, document).into_iter().for_each(&mut fault);
                }
            }
            "additionalProperties" => assert!(what.is_boolean() || what.is_object(), "{what}"),
            "items" => value.as_array().into_iter().flatten().for_each(|item| {
                faults(item, what, document).into_iter().for_each(&mut fault);
            }),
            "prefixItems" => value.as_array().into_iter().flatten().zip(list()).for_each(|(item, schema)| {
                faults(item, schema, document).into_iter().for_each(&mut fault);
            }),
            "minItems" | "maxItems" => {
                let (count, bound) = (value.as_array().map_or(0, Vec::len) as u64, what.as_u64().expect("a number"));
                if (word == "minItems" && count < bound) || (word == "maxItems" && count > bound) {
                    fault(format!("{count} items in {value}"));
                }
            }
            "oneOf" if list().iter().filter(|one| fits(one)).count() != 1 => {
                fault(format!("{value} is not one of {what}"))
            }
            "anyOf" if !list().iter().any(fits) => fault(format!("{value} is not any of {what}")),
            "oneOf" | "anyOf" => {}
            "allOf" => list().iter().for_each(|one| faults(value, one, document).into_iter().for_each(&mut fault)),
            other => fault(format!("what does {other} mean?")),
        }
    }
    found
}

#[test]
fn shapes_are_told_apart() {
    let document = serde_json::json!({ "shapes": { "name": { "type": "string" } } });
    let schema = serde_json::json!({
        "type": "object", "required": ["name"],
        "properties": { "name": { "$ref": "#/shapes/name" }, "kind": { "const": "a" }, "list": { "items": { "type": "integer" } } },
    });
    let count = |value: Value| faults(&value, &schema, &document).len();
    assert_eq!(count(serde_json::json!({ "name": "bob", "kind": "a", "list": [1], "more": null })), 0);
    assert_eq!(count(serde_json::json!({ "name": 7 })), 1);
    assert_eq!(count(serde_json::json!({ "kind": "b", "list": [1, "x"] })), 3);
    assert_eq!(faults(&Value::Null, &serde_json::json!({ "colour": "red" }), &document), ["what does colour mean?"]);
}

/// A body that fits each route that has one.
fn body(path: &str) -> &'static str {
    match path {
        "/api/v1/agents" => r#"{"name":"clerk","program":"bank.asl","count":2}"#,
        "/api/v1/agents/{name}/clone" => r#"{"name":"twin"}"#,
        "/api/v1/agents/{name}/move" => r#"{"to":"n2"}"#,
        "/api/v1/agents/{name}/debug" => r#"{"order":"end"}"#,
        "/api/v1/agents/{name}/breakpoints" => r#"{"plan":"p1","on":true}"#,
        "/api/v1/agents/{name}/line-breakpoints" => r#"{"file":"bank.asl","line":2,"on":true}"#,
        "/api/v1/agents/{name}/beliefs" => r#"{"belief":"rich","add":true}"#,
        "/api/v1/agents/{name}/goals" => r#"{"goal":"rest"}"#,
        "/api/v1/agents/{name}/query" => r#"{"formula":"rich"}"#,
        "/api/v1/agents/{name}/perform" => r#"{"body":"X = 3"}"#,
        "/api/v1/agents/{name}/program" => r#"{"program":"bank.asl"}"#,
        "/api/v1/nodes/{name}/drain" => r#"{"drains":true}"#,
        "/api/v1/messages" => r#"{"message":{"performative":"inform","receivers":["seller"],"content":"hello"}}"#,
        "/api/v1/services" => r#"{"agent":"bank1","services":[{"name":"loans","kind":"bank"}]}"#,
        _ => "",
    }
}

#[test]
fn routes_answer_as_documented() {
    let pages = Scratch::with(&[("index.html", "home"), ("bees.js", "hum();")]);
    let node = HttpNode::with(&["--log", "--audit", "audit.jsonl", "--pages", &pages.path().to_string_lossy()]);
    node.until(|node| node.get("/node")["sent"].as_u64() >= Some(20));
    let document = node.send("GET", "/api/v1/openapi.json", &[], "");
    assert_eq!((document.status, document.header("content-type")), (200, Some("application/json")));
    let document = document.json();
    let health = &document["paths"]["/health"]["get"]["responses"];
    assert_eq!(health["503"]["content"], health["200"]["content"], "what is wrong is told in the same shape");
    assert!(health["503"]["content"].is_object());
    let mut done = 0;
    for (path, methods) in document["paths"].as_object().expect("paths") {
        for (method, route) in methods.as_object().expect("methods") {
            let name = format!("{method} {path}");
            // An ended agent does not answer the rest.
            let agent = if name == "delete /api/v1/agents/{name}" { "bank12" } else { "bank1" };
            let at = path.replace("{name}", agent).replace("{step}", "suspend").replace("{path}", "bees.js");
            let method = method.to_uppercase();
            let answer = |token: &str| node.send(&method, &at, &bearer(token).each_ref().map(header), body(path));
            if let Some(role) = route["x-whimbrel-role"].as_str() {
                let status = answer(VIEWER).status;
                assert_eq!(status == 403, role == "admin", "{name}: {status}");
            }
            let response = answer(ADMIN);
            let (status, documented) = route["responses"].as_object().expect("responses").iter().next().expect("one");
            let documented = match response.status.to_string() {
                same if same == *status => documented,
                // What is no WebSocket, and what this node is in no state for, is refused as the document says.
                _ => {
                    let may_be =
                        ["/session", "/api/v1/live", "/api/v1/agents/{name}/move", "/api/v1/nodes/{name}/drain"];
                    let of_agents = ["recall", "breakpoints", "line-breakpoints"];
                    let of_agents = of_agents.map(|act| format!("/api/v1/agents/{{name}}/{act}"));
                    let may_be = [&may_be[..], &of_agents.each_ref().map(String::as_str)].concat();
                    assert!(may_be.contains(&path.as_str()), "{name}: {} {}", response.status, response.body);
                    &document["components"]["responses"]["refused"]
                }
            };
            if let Some(schema) = documented.pointer("/content/application~1json/schema") {
                let faults = faults(&response.json(), schema, &document);
                assert!(faults.is_empty(), "{name}: {faults:?}");
            }
            if let Some(query) = route["parameters"].as_array() {
                let unknown = query.iter().filter(|one| one["in"] == "query").count();
                let more = node.ask("GET", &format!("{}?unheard=of", at.trim_start_matches("/api/v1")), ADMIN, "");
                assert!(unknown == 0 || more.status == 400, "{name}");
            }
            done += 1;
        }
    }
    assert!(done >= 34, "{done}");
}

/// Headers of a request that shows a token.
fn bearer(token: &str) -> [(&'static str, String); 2] {
    [("authorization", format!("Bearer {token}")), ("content-type", "application/json".to_owned())]
}

fn header<'a>((name, value): &'a (&'static str, String)) -> (&'a str, &'a str) {
    (name, value)
}

/// The requests are made at once: the answers to wrong tokens of one address wait, each up to five seconds.
#[test]
fn every_route_refuses_wrong_tokens() {
    let node = HttpNode::start();
    let document = node.send("GET", "/api/v1/openapi.json", &[], "").json();
    let routes = document["paths"].as_object().expect("paths").iter();
    let routes = routes
        .flat_map(|(path, methods)| methods.as_object().expect("methods").keys().map(move |method| (path, method)));
    let guarded: Vec<_> =
        routes.filter(|(path, method)| document["paths"][*path][*method]["x-whimbrel-role"].is_string()).collect();
    assert!(guarded.len() >= 30, "{}", guarded.len());
    std::thread::scope(|scope| {
        for (path, method) in guarded {
            let at = path.replace("{name}", "bank1").replace("{step}", "suspend").replace("{path}", "bees.js");
            let (node, method) = (&node, method.to_uppercase());
            scope.spawn(move || {
                let refused = node.send(&method, &at, &bearer("nobody").each_ref().map(header), body(path));
                assert_eq!(refused.status, 401, "{method} {path}");
            });
        }
    });
}

/// A shape, and all that it takes in.
fn parts<'a>(value: &Value, schema: &'a Value, document: &'a Value) -> Vec<&'a Value> {
    let referred = schema["$ref"].as_str().and_then(|path| document.pointer(path.trim_start_matches('#')));
    let all = schema["allOf"].as_array().into_iter().flatten();
    let one = ["anyOf", "oneOf"].iter().find_map(|word| schema[word].as_array());
    let one = one.and_then(|several| several.iter().find(|one| faults(value, one, document).is_empty()));
    let taken_in = referred.into_iter().chain(all).chain(one).flat_map(|part| parts(value, part, document));
    std::iter::once(schema).chain(taken_in).collect()
}

/// Returns the members of a value, at any depth, that its shape does not name.
fn unnamed(value: &Value, schema: &Value, document: &Value) -> Vec<String> {
    let parts = parts(value, schema, document);
    let mut found = Vec::new();
    let items = parts.iter().map(|part| &part["items"]).find(|items| items.is_object());
    for (item, items) in value.as_array().into_iter().flatten().zip(std::iter::repeat(items)) {
        found.extend(items.into_iter().flat_map(|items| unnamed(item, items, document)));
    }
    for (name, member) in value.as_object().into_iter().flatten() {
        match parts.iter().find_map(|part| part["properties"].get(name)) {
            Some(shape) => found.extend(unnamed(member, shape, document)),
            None => found.push(name.clone()),
        }
    }
    found
}

#[test]
fn mind_and_advice_schemas_are_complete() {
    let node = HttpNode::with(&["--nodes", "2"]);
    node.until(|node| node.get("/agents?elsewhere=true")["total"] == 14);
    let document = node.send("GET", "/api/v1/openapi.json", &[], "").json();
    let check = |value: &Value, schema: &Value| {
        assert_eq!(faults(value, schema, &document), [""; 0], "{value}");
        assert_eq!(unnamed(value, schema, &document), [""; 0], "{value}");
    };
    let shape = |path: &str| {
        let told = &document["paths"][path]["get"]["responses"]["200"]["content"]["application/json"]["schema"];
        assert!(told.is_object(), "{path}");
        told
    };
    for agent in ["buyer", "seller", "bank1", "df"] {
        // On a busy machine an agent may take its time to answer.
        node.until(|node| node.ask("GET", &format!("/agents/{agent}/mind"), ADMIN, "").status == 200);
        check(&node.get(&format!("/agents/{agent}/mind")), shape("/api/v1/agents/{name}/mind"));
    }
    let mind = node.get("/agents/buyer/mind");
    assert!(!mind["plans"].as_array().expect("plans").is_empty(), "{mind}");
    check(&node.get("/codes"), shape("/api/v1/codes"));
    check(&node.get("/agents?elsewhere=true"), shape("/api/v1/agents"));
    let mut live = node.live(ADMIN);
    live.say(r#"{"type":"ask","id":1,"request":{"request":"advise","to":"n2","job":{"documents":9,"bytes":1000000}}}"#);
    let mut advice = live.expect("answer")["answer"].clone();
    assert_eq!(advice.as_object_mut().and_then(|all| all.remove("answer")), Some("advice".into()), "{advice}");
    let shapes = &document["components"]["schemas"];
    check(&advice, &shapes["Advice"]);
    let load = serde_json::json!({ "busy": 120, "parts": [[3, 100]] });
    check(&load, &shapes["Load"]);
    let trouble = serde_json::json!({ "partition": 3, "kind": "unreadable", "why": "a frame" });
    assert_eq!(unnamed(&trouble, &shapes["Trouble"], &document), [""; 0]);
}
