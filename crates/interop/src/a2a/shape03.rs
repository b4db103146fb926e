//! JSON of version 0.3.

use serde_json::{Map, Value as Json, json};

use super::error::A2aError;
use super::object::{
    A2aArtifact, A2aMessage, A2aPart, A2aTask, JsonObject, MessageRole, PartContent, TaskStatus, TaskUpdate,
    read_base64, write_base64,
};

/// Reads a message.
///
/// # Errors
/// Members are missing or invalid.
pub fn read_message(json: Json) -> Result<A2aMessage, A2aError> {
    let Json::Object(mut members) = json else { return Err(A2aError::invalid("`message` is an object")) };
    let role = match members.get("role").and_then(Json::as_str) {
        Some("user") => MessageRole::User,
        Some("agent") => MessageRole::Agent,
        _ => return Err(A2aError::invalid("`role` is `user` or `agent`")),
    };
    let Some(Json::Array(parts)) = members.remove("parts") else {
        return Err(A2aError::invalid("`parts` is an array"));
    };
    let message_id = text(&mut members, "messageId")?.ok_or_else(|| A2aError::invalid("`messageId` is missing"))?;
    Ok(A2aMessage {
        message_id,
        context_id: text(&mut members, "contextId")?,
        task_id: text(&mut members, "taskId")?,
        role,
        parts: parts.into_iter().map(read_part).collect::<Result<_, _>>()?,
        metadata: object(&mut members, "metadata")?,
        extensions: texts(&mut members, "extensions")?,
        reference_task_ids: texts(&mut members, "referenceTaskIds")?,
    })
}

fn text(members: &mut JsonObject, key: &str) -> Result<Option<String>, A2aError> {
    match members.remove(key) {
        None | Some(Json::Null) => Ok(None),
        Some(Json::String(text)) => Ok(Some(text).filter(|text| !text.is_empty())),
        Some(_) => Err(A2aError::invalid(format!("`{key}` is a string"))),
    }
}

fn texts(members: &mut JsonObject, key: &str) -> Result<Vec<String>, A2aError> {
    let texts = members.remove(key).filter(|texts| !texts.is_null());
    let bad = |_| A2aError::invalid(format!("`{key}` is an array of strings"));
    texts.map_or(Ok(Vec::new()), |texts| serde_json::from_value(texts).map_err(bad))
}

fn object(members: &mut JsonObject, key: &str) -> Result<Option<JsonObject>, A2aError> {
    match members.remove(key) {
        None | Some(Json::Null) => Ok(None),
        Some(Json::Object(object)) => Ok(Some(object)),
        Some(_) => Err(A2aError::invalid(format!("`{key}` is an object"))),
    }
}

fn read_part(json: Json) -> Result<A2aPart, A2aError> {
    let Json::Object(mut members) = json else { return Err(A2aError::invalid("a part is an object")) };
    let metadata = object(&mut members, "metadata")?;
    let kind = text(&mut members, "kind")?.unwrap_or_default();
    let mut part = match kind.as_str() {
        "text" => match members.remove("text") {
            Some(Json::String(text)) => A2aPart::of(PartContent::Text(text)),
            _ => return Err(A2aError::invalid("a text part has a string `text`")),
        },
        "data" => match members.remove("data") {
            Some(data @ Json::Object(_)) => A2aPart::of(PartContent::Data(data)),
            _ => return Err(A2aError::invalid("a data part has an object `data`")),
        },
        "file" => read_file(object(&mut members, "file")?.unwrap_or_default())?,
        _ => return Err(A2aError::invalid("the `kind` of a part is `text`, `file` or `data`")),
    };
    part.metadata = metadata;
    Ok(part)
}

fn read_file(mut file: JsonObject) -> Result<A2aPart, A2aError> {
    let mut said = |key: &str| match file.remove(key) {
        Some(Json::String(text)) => Some(text),
        _ => None,
    };
    let content = match (said("bytes"), said("uri")) {
        (Some(bytes), None) => {
            PartContent::Raw(read_base64(&bytes).ok_or_else(|| A2aError::invalid("`bytes` is no base64"))?)
        }
        (None, Some(uri)) => PartContent::Url(uri),
        _ => return Err(A2aError::invalid("a file has either `bytes` or `uri`")),
    };
    let (media_type, filename) = (text(&mut file, "mimeType")?, text(&mut file, "name")?);
    Ok(A2aPart { media_type, filename, ..A2aPart::of(content) })
}

/// Writes a message.
pub fn message(message: &A2aMessage) -> Json {
    let A2aMessage { message_id, context_id, task_id, role, parts, metadata, extensions, reference_task_ids } = message;
    let role = if *role == MessageRole::User { "user" } else { "agent" };
    let mut members = Map::new();
    members.insert("kind".into(), "message".into());
    members.insert("messageId".into(), message_id.as_str().into());
    members.insert("role".into(), role.into());
    members.insert("parts".into(), parts.iter().map(part).collect());
    for (key, id) in [("contextId", context_id), ("taskId", task_id)] {
        id.iter().for_each(|id| drop(members.insert(key.into(), id.as_str().into())));
    }
    metadata.iter().for_each(|metadata| drop(members.insert("metadata".into(), metadata.clone().into())));
    for (key, texts) in [("extensions", extensions), ("referenceTaskIds", reference_task_ids)] {
        if !texts.is_empty() {
            members.insert(key.into(), texts.clone().into());
        }
    }
    members.into()
}

fn part(part: &A2aPart) -> Json {
    let file = |key: &str, value: String| {
        let mut file = Map::new();
        file.insert(key.to_owned(), value.into());
        part.media_type.iter().for_each(|kind| drop(file.insert("mimeType".into(), kind.as_str().into())));
        part.filename.iter().for_each(|name| drop(file.insert("name".into(), name.as_str().into())));
        json!({"kind": "file", "file": file})
    };
    let mut json = match &part.content {
        PartContent::Text(text) => json!({"kind": "text", "text": text}),
        PartContent::Raw(bytes) => file("bytes", write_base64(bytes)),
        PartContent::Url(url) => file("uri", url.clone()),
        PartContent::Data(data @ Json::Object(_)) => json!({"kind": "data", "data": data}),
        PartContent::Data(data) => json!({"kind": "data", "data": {"value": data}}),
    };
    if let (Some(metadata), Json::Object(members)) = (&part.metadata, &mut json) {
        members.insert("metadata".into(), metadata.clone().into());
    }
    json
}

fn status(status: &TaskStatus) -> Json {
    let mut json = json!({"state": status.state.name_03(), "timestamp": status.timestamp});
    if let (Some(said), Json::Object(members)) = (&status.message, &mut json) {
        members.insert("message".into(), message(said));
    }
    json
}

fn artifact(artifact: &A2aArtifact) -> Json {
    let A2aArtifact { artifact_id, name, parts, metadata, extensions } = artifact;
    let mut members = Map::new();
    members.insert("artifactId".into(), artifact_id.as_str().into());
    members.insert("parts".into(), parts.iter().map(part).collect());
    name.iter().for_each(|name| drop(members.insert("name".into(), name.as_str().into())));
    metadata.iter().for_each(|metadata| drop(members.insert("metadata".into(), metadata.clone().into())));
    if !extensions.is_empty() {
        members.insert("extensions".into(), extensions.clone().into());
    }
    members.into()
}

/// Writes a task.
pub fn task(task: &A2aTask) -> Json {
    let A2aTask { id, context_id, status: state, artifacts, history, metadata } = task;
    let mut members = Map::new();
    members.insert("kind".into(), "task".into());
    members.insert("id".into(), id.as_str().into());
    members.insert("contextId".into(), context_id.as_str().into());
    members.insert("status".into(), status(state));
    if !artifacts.is_empty() {
        members.insert("artifacts".into(), artifacts.iter().map(|it| artifact(it)).collect());
    }
    if !history.is_empty() {
        members.insert("history".into(), history.iter().map(|it| message(it)).collect());
    }
    metadata.iter().for_each(|metadata| drop(members.insert("metadata".into(), metadata.clone().into())));
    members.into()
}

/// Writes an answer to a message, or an event of a stream.
pub fn update(update: &TaskUpdate) -> Json {
    match update {
        TaskUpdate::Task(it) => task(it),
        TaskUpdate::Message(it) => message(it),
        TaskUpdate::StatusUpdate(it) => json!({
            "kind": "status-update",
            "taskId": it.task_id,
            "contextId": it.context_id,
            "status": status(&it.status),
            "final": it.status.state.is_settled(),
        }),
        TaskUpdate::ArtifactUpdate(it) => json!({
            "kind": "artifact-update",
            "taskId": it.task_id,
            "contextId": it.context_id,
            "artifact": artifact(&it.artifact),
            "append": it.append,
            "lastChunk": it.last_chunk,
        }),
    }
}
