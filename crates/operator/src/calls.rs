//! Request on a control socket: a line of JSON that begins with the version.

use serde::{Deserialize, Serialize};
use whimbrel_platform::limits::CONTROL_REQUEST_BYTES_MAX;

use super::answers::{Reason, Refusal};
use super::requests::Request;

/// Version of the requests and answers. Additions leave the version as it is.
pub const VERSION: u32 = 1;

/// Only line that a client writes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OperatorCall {
    /// Version of the client: [`VERSION`].
    pub version: u32,
    /// The request.
    #[serde(flatten)]
    pub request: Request,
}

/// Reads a request. The version is read first, since another version may have other members.
///
/// # Errors
/// The line is no request, or of another version.
pub fn read_call(line: &[u8]) -> Result<Request, Refusal> {
    #[derive(Deserialize)]
    struct RequestVersion {
        version: u32,
    }
    let refuse = |text: String| Refusal { reason: Reason::BadRequest, text, node: None };
    if !line.ends_with(b"\n") {
        let text = format!("a request is one line, of at most {CONTROL_REQUEST_BYTES_MAX} bytes");
        return Err(refuse(text));
    }
    let version = serde_json::from_slice::<RequestVersion>(line)
        .map_err(|error| refuse(format!("malformed request: {error}")))?;
    if version.version != VERSION {
        return Err(refuse(format!(
            "this node speaks version {VERSION} of the control protocol, not {}",
            version.version
        )));
    }
    let call =
        serde_json::from_slice::<OperatorCall>(line).map_err(|error| refuse(format!("malformed request: {error}")))?;
    Ok(call.request)
}
