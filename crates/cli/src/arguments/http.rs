//! Options of a node's HTTP port.

use std::path::PathBuf;

use clap::Args;
use whimbrel::node::http_port::{self, Http};

use super::a2a::A2aArguments;
use super::mcp::McpArguments;
use super::run::PORTS;

/// Address of a node's HTTP port, and access to it.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = PORTS)]
pub struct HttpArguments {
    /// Address of the HTTP port, with the console and everything else for browsers and HTTP clients: an address
    /// (127.0.0.1:8420), a port of this machine, or `off`. `run` uses port 8420 by default, or a free one if that is
    /// taken; other commands have no HTTP port by default. Connections from other machines are encrypted, unless
    /// `--security open` is given.
    #[arg(long, value_name = "ADDRESS|PORT|off", env = "WHIMBREL_HTTP", value_parser = http)]
    pub http: Option<Http>,
    /// Share the port with other processes that have this option, too. The system distributes connections among them.
    /// The processes must be nodes of one platform. Each opens a second port for itself alone: if a client reaches
    /// another node than that of its session or agent, it is redirected to that port.
    #[arg(long, requires = "http")]
    pub http_reuse_port: bool,
    /// Public address of this node alone, if it is behind a proxy or address translation: HOST:PORT, or :PORT on the
    /// host that clients know. Other nodes redirect clients of this node's sessions and agents to it.
    #[arg(long, value_name = "HOST:PORT", requires = "http", value_parser = public)]
    pub http_public: Option<String>,
    /// Token for full access to the HTTP port [default: a new one each time].
    #[arg(long, value_name = "TOKEN", env = "WHIMBREL_HTTP_TOKEN", hide_env_values = true, value_parser = token)]
    pub http_token: Option<String>,
    /// Token for read-only access to the HTTP port.
    #[arg(long, value_name = "TOKEN", env = "WHIMBREL_HTTP_VIEWER_TOKEN", hide_env_values = true, value_parser = token)]
    pub http_viewer_token: Option<String>,
    /// Also accept requests from pages of this origin, for example https://bees.example. Behind a proxy, give the
    /// node's public origin. `*` accepts every origin that shows a token. May be given several times.
    #[arg(long = "http-origin", value_name = "URL", value_parser = origin)]
    pub http_origins: Vec<String>,
    /// Folder of web pages to serve at /pages/, without a token. Volunteers open such a page to lend their devices to
    /// the platform.
    #[arg(long, value_name = "FOLDER")]
    pub pages: Option<PathBuf>,
    /// Certificate (PEM) to show to browsers [default: the node's certificate].
    #[arg(long, value_name = "FILE", requires = "http_key")]
    pub http_certificate: Option<PathBuf>,
    /// Key of the certificate (PEM).
    #[arg(long, value_name = "FILE", requires = "http_certificate")]
    pub http_key: Option<PathBuf>,
    #[command(flatten)]
    pub a2a: A2aArguments,
    #[command(flatten)]
    pub mcp: McpArguments,
}

impl HttpArguments {
    /// Returns the options of the library.
    pub fn options(&self) -> http_port::HttpOptions {
        http_port::HttpOptions {
            http: self.http.clone(),
            reuse_port: self.http_reuse_port,
            public: self.http_public.clone(),
            token: self.http_token.clone(),
            viewer_token: self.http_viewer_token.clone(),
            origins: self.http_origins.clone(),
            pages: self.pages.clone(),
            certificate: self.http_certificate.clone(),
            key: self.http_key.clone(),
            a2a: self.a2a.options(),
            mcp: self.mcp.options(),
        }
    }
}

fn http(text: &str) -> Result<Http, String> {
    if text == "off" {
        return Ok(Http::Off);
    }
    if text.parse::<u16>().is_ok() {
        return Ok(Http::At(format!("127.0.0.1:{text}")));
    }
    match text.rsplit_once(':') {
        Some((host, port)) if !host.is_empty() && port.parse::<u16>().is_ok() => Ok(Http::At(text.to_owned())),
        _ => Err("expected an address as 127.0.0.1:8420, a port, or off".to_owned()),
    }
}

/// Returns true for a valid host with or without a port: no character of it has a meaning in a URL or in a page's
/// policy.
fn is_authority(text: &str) -> bool {
    text.chars().all(|c| c.is_alphanumeric() || "-._:[]".contains(c))
}

fn public(text: &str) -> Result<String, String> {
    match text.rsplit_once(':') {
        Some((host, port)) if is_authority(host) && port.parse::<u16>().is_ok_and(|port| port != 0) => {
            Ok(text.to_ascii_lowercase())
        }
        _ => Err("expected an address as n2.bees.example:443, or :8421 at the host that clients know".to_owned()),
    }
}

/// Minimum length of a token in bytes: enough that it cannot be guessed.
const TOKEN_BYTES_MIN: usize = 8;

fn token(text: &str) -> Result<String, String> {
    if text.len() < TOKEN_BYTES_MIN || text.contains(char::is_whitespace) {
        return Err(format!("a token has {TOKEN_BYTES_MIN} characters at least, and no spaces"));
    }
    Ok(text.to_owned())
}

fn origin(text: &str) -> Result<String, String> {
    let bare = text.trim_end_matches('/');
    match bare.split_once("://") {
        _ if bare == "*" => Ok(bare.to_owned()),
        Some(("http" | "https", host)) if !host.is_empty() && is_authority(host) => Ok(bare.to_owned()),
        _ => Err("expected an origin as https://bees.example".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_ports_and_off() {
        assert_eq!(http("off"), Ok(Http::Off));
        assert_eq!(http("0"), Ok(Http::At("127.0.0.1:0".to_owned())));
        assert_eq!(http("10.0.0.1:80"), Ok(Http::At("10.0.0.1:80".to_owned())));
        assert_eq!(http("[::1]:80"), Ok(Http::At("[::1]:80".to_owned())));
        for none in ["", "on", "99999", "10.0.0.1", ":80", "host:x"] {
            assert!(http(none).is_err(), "{none}");
        }
    }

    #[test]
    fn public_addresses_are_checked() {
        for good in ["n2.bees.example:443", ":8421", "[2001:db8::7]:443"] {
            assert_eq!(public(good), Ok(good.to_owned()));
        }
        for none in ["", "n2.bees.example", "https://n2.bees.example:443", "n2:0", "n2:x", "a b:1", "n2:443/"] {
            assert!(public(none).is_err(), "{none}");
        }
    }

    #[test]
    fn origins_and_tokens_are_checked() {
        assert_eq!(origin("https://bees.example/"), Ok("https://bees.example".to_owned()));
        assert_eq!(origin("*"), Ok("*".to_owned()));
        assert!(
            ["bees.example", "ftp://bees.example", "https://", "https://a/b", "https://a;b"]
                .iter()
                .all(|text| origin(text).is_err())
        );
        assert!(token("12345678").is_ok() && token("1234567").is_err() && token("1234 5678").is_err());
    }
}
