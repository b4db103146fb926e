//! Headers of HTTP that repeat parts of a request, and the metadata of each request.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value as Json;

use super::error::{McpError, repeated};
use super::{LEGACY_VERSIONS, VERSION};
use crate::json::JsonMembers;

const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const META_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const META_LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";

/// Headers of a request that MCP defines, as text.
#[derive(Clone, Copy, Debug, Default)]
pub struct McpHeaders<'a> {
    /// `MCP-Protocol-Version`.
    pub version: Option<&'a str>,
    /// `Mcp-Method`.
    pub method: Option<&'a str>,
    /// `Mcp-Name`.
    pub name: Option<&'a str>,
    /// `Mcp-Session-Id`.
    pub session: Option<&'a str>,
}

/// Era of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum McpEra {
    /// Since 2026-07-28: each request stands for itself.
    Modern,
    /// Before: `initialize` opens a session.
    Legacy,
}

/// Importance of a log message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum McpLogLevel {
    /// Details for developers.
    Debug,
    /// Ordinary events.
    Info,
    /// Events that matter.
    Notice,
    /// Possible faults.
    Warning,
    /// Faults.
    Error,
    /// Faults of parts of the system.
    Critical,
    /// Faults that somebody must see to at once.
    Alert,
    /// Faults that make the system unusable.
    Emergency,
}

impl McpLogLevel {
    const ALL: [Self; 8] = [
        Self::Debug,
        Self::Info,
        Self::Notice,
        Self::Warning,
        Self::Error,
        Self::Critical,
        Self::Alert,
        Self::Emergency,
    ];

    /// Returns the level of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.name() == name)
    }

    /// Returns the name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Notice => "notice",
            Self::Warning => "warning",
            Self::Error => "error",
            Self::Critical => "critical",
            Self::Alert => "alert",
            Self::Emergency => "emergency",
        }
    }
}

/// Capabilities of a client, as far as agents' questions need them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClientCapabilities {
    /// True if its user fills in forms.
    pub elicitation: bool,
    /// True if its language model completes messages.
    pub sampling: bool,
    /// True if it lists folders.
    pub roots: bool,
}

impl ClientCapabilities {
    /// Reads the object of a request or of `initialize`.
    pub fn read(members: &JsonMembers) -> Self {
        let elicitation = members.get("elicitation").and_then(Json::as_object);
        // An empty object stands for forms.
        let has_forms = |modes: &JsonMembers| modes.is_empty() || modes.contains_key("form");
        Self {
            elicitation: elicitation.is_some_and(has_forms),
            sampling: members.get("sampling").is_some_and(Json::is_object),
            roots: members.get("roots").is_some_and(Json::is_object),
        }
    }

    /// Returns true if the capability of this name was declared.
    pub fn has(self, name: &str) -> bool {
        match name {
            "elicitation" => self.elicitation,
            "sampling" => self.sampling,
            "roots" => self.roots,
            _ => false,
        }
    }
}

/// Metadata of a request.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RequestMeta {
    /// Capabilities of the client.
    pub capabilities: ClientCapabilities,
    /// Token of progress notifications: text or a number.
    pub progress_token: Option<Json>,
    /// Lowest level of log messages for this request; without one, none are sent.
    pub log_level: Option<McpLogLevel>,
}

/// Returns the era of a request.
pub fn era_of(headers: McpHeaders<'_>, method: &str, params: &JsonMembers) -> McpEra {
    let is_known_legacy = headers.version.is_some_and(|version| LEGACY_VERSIONS.contains(&version));
    let has_modern_meta = params.get("_meta").is_some_and(|meta| meta.get(META_VERSION).is_some());
    if headers.session.is_some() || (is_known_legacy && !has_modern_meta) {
        return McpEra::Legacy;
    }
    if headers.version.is_none() && !has_modern_meta && (method == "initialize" || headers.method.is_none()) {
        return McpEra::Legacy;
    }
    McpEra::Modern
}

/// Reads the metadata of a request of the legacy era.
pub fn legacy_meta(capabilities: ClientCapabilities, log_level: McpLogLevel, params: &JsonMembers) -> RequestMeta {
    RequestMeta { capabilities, log_level: Some(log_level), progress_token: progress_token(params) }
}

fn progress_token(params: &JsonMembers) -> Option<Json> {
    let token = params.get("_meta")?.get("progressToken")?;
    (token.is_string() || token.is_number()).then(|| token.clone())
}

/// Checks the metadata of a request of the modern era, and the headers that repeat parts of it; `None` if it did not
/// come over HTTP.
///
/// # Errors
/// Metadata is missing, the version is another one, or a header is missing or differs from the body.
pub fn check_modern(
    headers: Option<McpHeaders<'_>>,
    method: &str,
    params: &JsonMembers,
) -> Result<RequestMeta, McpError> {
    let meta = params.get("_meta").and_then(Json::as_object).ok_or_else(|| McpError::no_metadata(META_VERSION))?;
    let version = meta.get(META_VERSION).and_then(Json::as_str).ok_or_else(|| McpError::no_metadata(META_VERSION))?;
    let capabilities = meta.get(META_CAPABILITIES).and_then(Json::as_object);
    let capabilities = capabilities.ok_or_else(|| McpError::no_metadata(META_CAPABILITIES))?;
    if let Some(headers) = headers {
        check_header("MCP-Protocol-Version", headers.version, version)?;
    }
    if version != VERSION {
        return Err(McpError::unsupported_version(version));
    }
    if let Some(headers) = headers {
        check_header("Mcp-Method", headers.method, method)?;
        if let Some(member) = named_by(method) {
            let name = params.get(member).and_then(Json::as_str).unwrap_or_default();
            check_name(headers.name, name)?;
        }
    }
    let log_level = meta.get(META_LOG_LEVEL).and_then(Json::as_str).and_then(McpLogLevel::named);
    let capabilities = ClientCapabilities::read(capabilities);
    Ok(RequestMeta { capabilities, log_level, progress_token: progress_token(params) })
}

/// Returns the parameter that `Mcp-Name` repeats.
pub(super) fn named_by(method: &str) -> Option<&'static str> {
    match method {
        "tools/call" | "prompts/get" => Some("name"),
        "resources/read" => Some("uri"),
        _ => None,
    }
}

fn check_header(name: &str, header: Option<&str>, body: &str) -> Result<(), McpError> {
    match header.map(str::trim) {
        Some(header) if header == body => Ok(()),
        Some(header) => {
            let message = format!("header {name} is {}, the body says {}", repeated(header), repeated(body));
            Err(McpError::header_mismatch(message))
        }
        None => Err(McpError::header_mismatch(format!("header {name} is missing"))),
    }
}

fn check_name(header: Option<&str>, name: &str) -> Result<(), McpError> {
    let decoded = header.map(|header| decode_header(header.trim()));
    match decoded {
        Some(None) => Err(McpError::header_mismatch("header Mcp-Name is no valid =?base64?...?=")),
        Some(Some(header)) => check_header("Mcp-Name", Some(&header), name),
        None => check_header("Mcp-Name", None, name),
    }
}

/// Decodes the value of a header that may stand for text outside ASCII.
fn decode_header(header: &str) -> Option<String> {
    let Some(encoded) = header.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) else {
        return Some(header.to_owned());
    };
    String::from_utf8(STANDARD.decode(encoded).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn params(version: &str) -> JsonMembers {
        let json =
            json!({"name": "seller.price", "_meta": {META_VERSION: version, META_CAPABILITIES: {"elicitation": {}}}});
        json.as_object().cloned().unwrap_or_default()
    }

    fn code(headers: McpHeaders<'_>, method: &str, params: &JsonMembers) -> Result<RequestMeta, i32> {
        check_modern(Some(headers), method, params).map_err(|error| error.code)
    }

    const GOOD: McpHeaders<'_> =
        McpHeaders { version: Some(VERSION), method: Some("tools/call"), name: Some("seller.price"), session: None };

    #[test]
    fn headers_repeat_the_body() {
        let good = code(GOOD, "tools/call", &params(VERSION)).expect("all fit");
        assert!(good.capabilities.elicitation && !good.capabilities.sampling);
        assert_eq!(code(McpHeaders { name: None, ..GOOD }, "tools/call", &params(VERSION)), Err(-32020));
        assert_eq!(code(McpHeaders { method: None, ..GOOD }, "tools/call", &params(VERSION)), Err(-32020));
        assert_eq!(code(McpHeaders { version: None, ..GOOD }, "tools/call", &params(VERSION)), Err(-32020));
        assert_eq!(code(GOOD, "tools/list", &params(VERSION)), Err(-32020));
        assert_eq!(code(GOOD, "tools/call", &JsonMembers::new()), Err(-32602));
    }

    #[test]
    fn unknown_version_is_refused() {
        let headers = McpHeaders { version: Some("v999"), ..GOOD };
        let error = check_modern(Some(headers), "tools/call", &params("v999")).expect_err("nobody speaks it");
        assert_eq!((error.code, error.status), (-32022, 400));
        assert_eq!(error.data.as_ref().and_then(|data| data.get("requested")), Some(&json!("v999")));
        assert_eq!(code(GOOD, "tools/call", &params("v999")), Err(-32020), "the header differs");
    }

    #[test]
    fn name_may_be_encoded() {
        assert_eq!(decode_header("=?base64?w6k=?=").as_deref(), Some("é"));
        assert_eq!(decode_header("=?base64?%?="), None);
        assert_eq!(decode_header("plain").as_deref(), Some("plain"));
    }

    #[test]
    fn eras_are_told_apart() {
        let none = JsonMembers::new();
        let session = McpHeaders { session: Some("s"), ..McpHeaders::default() };
        let legacy = McpHeaders { version: Some("2025-11-25"), ..McpHeaders::default() };
        assert_eq!(era_of(McpHeaders::default(), "initialize", &none), McpEra::Legacy);
        assert_eq!(era_of(session, "tools/list", &none), McpEra::Legacy);
        assert_eq!(era_of(legacy, "tools/list", &none), McpEra::Legacy);
        assert_eq!(era_of(GOOD, "initialize", &params(VERSION)), McpEra::Modern);
        assert_eq!(era_of(McpHeaders { version: Some("v999"), ..legacy }, "x", &none), McpEra::Modern);
    }
}
