//! Requests of A2A as REST says them: method, path, query and body.

use serde_json::{Map, Value as Json};

use super::error::{A2aError, A2aErrorKind, shortened};
use super::request::{Dialect, Operation, checked_id, checked_length, list, parse, read, send};

/// Reads a request in REST. `path` is the part behind the address of the interface, as in `tasks/T1:cancel`.
///
/// # Errors
/// There is no such operation, or its parameters are invalid.
pub fn read_rest(method: &str, path: &str, query: Option<&str>, body: &[u8]) -> Result<Operation, A2aError> {
    let query = read_query(query.unwrap_or_default());
    let body = || if body.is_empty() { Ok(Json::Object(Map::new())) } else { parse(body) };
    let parts: Vec<&str> = path.split('/').collect();
    let history_length = || checked_length(number(&query, "historyLength")?);
    Ok(match (method, parts.as_slice()) {
        ("POST", ["message:send"]) => send(body()?, Dialect::V1, false)?,
        ("POST", ["message:stream"]) => send(body()?, Dialect::V1, true)?,
        ("GET", ["tasks"]) => list(filter(&query)?)?,
        ("GET", ["extendedAgentCard"]) => Operation::ExtendedCard,
        ("GET" | "POST" | "DELETE", ["tasks", _, "pushNotificationConfigs", ..]) if parts.len() <= 4 => Operation::Push,
        (_, ["tasks", task]) => match (method, task.rsplit_once(':')) {
            ("POST", Some((id, "cancel"))) => Operation::CancelTask { id: task_id(id)? },
            ("GET" | "POST", Some((id, "subscribe"))) => Operation::Subscribe { id: task_id(id)? },
            ("GET", _) => Operation::GetTask { id: task_id(task)?, history_length: history_length()? },
            _ => return Err(no_path(method, path)),
        },
        _ => return Err(no_path(method, path)),
    })
}

fn no_path(method: &str, path: &str) -> A2aError {
    A2aError::new(A2aErrorKind::MethodNotFound, format!("no operation: {} {}", shortened(method), shortened(path)))
}

fn task_id(text: &str) -> Result<String, A2aError> {
    checked_id(percent_decoded(text))
}

fn read_query(query: &str) -> Vec<(String, String)> {
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    let pair = |pair: &str| {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        (percent_decoded(&key.replace('+', " ")), percent_decoded(&value.replace('+', " ")))
    };
    pairs.map(pair).collect()
}

fn value<'a>(query: &'a [(String, String)], key: &str) -> Option<&'a str> {
    query.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
}

fn number(query: &[(String, String)], key: &str) -> Result<Option<i64>, A2aError> {
    let number = value(query, key).map(str::parse).transpose();
    number.map_err(|_| A2aError::invalid(format!("`{key}` is no number")))
}

fn filter(query: &[(String, String)]) -> Result<super::TaskFilter, A2aError> {
    let text = |key| value(query, key).map(str::to_owned);
    let status = value(query, "status").map(|name| read(Json::String(name.to_owned()))).transpose()?;
    Ok(super::TaskFilter {
        context_id: text("contextId"),
        status,
        page_size: number(query, "pageSize")?,
        page_token: text("pageToken"),
        history_length: number(query, "historyLength")?,
        status_timestamp_after: text("statusTimestampAfter"),
        include_artifacts: value(query, "includeArtifacts").map(|text| text == "true"),
    })
}

/// Decodes `%41` and the like; bytes that make no text are replaced.
fn percent_decoded(text: &str) -> String {
    if !text.contains('%') {
        return text.to_owned();
    }
    let (mut bytes, mut rest) = (Vec::with_capacity(text.len()), text.as_bytes());
    while let Some((first, behind)) = rest.split_first() {
        let digits = behind.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()).filter(|_| *first == b'%') {
            Some(byte) => {
                bytes.push(byte);
                rest = behind.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = behind;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
