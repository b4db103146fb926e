//! Addresses of other platforms: `http://HOST:PORT/PATH`.

use std::fmt;
use std::str::FromStr;

/// Port of an address that names none.
const USUAL_PORT: u16 = 80;

/// Address of a platform's agent communication channel.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HttpAddress {
    /// Name or number of the host, without brackets, in lower case.
    pub host: String,
    /// Port.
    pub port: u16,
    /// Path with its query, `/` at least.
    pub path: String,
}

/// Text that is no address of this transport.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no address of a platform: expected http://HOST:PORT/acc")]
pub struct HttpAddressError(pub String);

impl HttpAddress {
    /// Returns the host and port as they stand in a request.
    pub fn authority(&self) -> String {
        match self.host.contains(':') {
            true => format!("[{}]:{}", self.host, self.port),
            false => format!("{}:{}", self.host, self.port),
        }
    }
}

impl fmt::Display for HttpAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}{}", self.authority(), self.path)
    }
}

impl FromStr for HttpAddress {
    type Err = HttpAddressError;

    fn from_str(text: &str) -> Result<Self, HttpAddressError> {
        read(text.trim()).ok_or_else(|| HttpAddressError(text.chars().take(200).collect()))
    }
}

fn read(text: &str) -> Option<HttpAddress> {
    let rest = text.get(7..).filter(|_| text.get(..7).is_some_and(|scheme| scheme.eq_ignore_ascii_case("http://")))?;
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at_checked(end)?;
    let (host, port) = match authority.strip_prefix('[') {
        Some(bracketed) => bracketed.split_once(']').map(|(host, port)| (host, port.strip_prefix(':')))?,
        None => authority.split_once(':').map_or((authority, None), |(host, port)| (host, Some(port))),
    };
    let is_host = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ':');
    if host.is_empty() || !host.chars().all(is_host) {
        return None;
    }
    let port = port.map_or(Some(USUAL_PORT), |port| port.parse().ok())?;
    let path = path.split('#').next().unwrap_or_default();
    let is_path = path.bytes().all(|byte| byte.is_ascii_graphic());
    let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
    (port != 0 && is_path).then(|| HttpAddress { host: host.to_ascii_lowercase(), port, path })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_parse_and_print() {
        for (text, printed) in [
            ("http://127.0.0.1:7778/acc", "http://127.0.0.1:7778/acc"),
            ("HTTP://Host.example/acc?a=1#b", "http://host.example:80/acc?a=1"),
            ("http://[::1]:80", "http://[::1]:80/"),
            (" http://h:1 ", "http://h:1/"),
        ] {
            assert_eq!(text.parse::<HttpAddress>().map(|address| address.to_string()), Ok(printed.to_owned()));
        }
        for text in
            ["", "http://", "https://h/acc", "http://h:0/", "http://h:x/", "http://h/a b", "http://a@b/", "IOR:0"]
        {
            assert!(text.parse::<HttpAddress>().is_err(), "{text}");
        }
    }
}
