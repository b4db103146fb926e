//! Address of an engine, in one line: `nats://HOST:PORT,HOST:PORT/NAME?replicas=3`.

use std::path::PathBuf;
use std::time::Duration;

use whimbrel_platform::limits;
use whimbrel_platform::store::Survives;

use super::ConnectError;

/// The port of NATS if none is said.
const PORT: u16 = 4222;

/// Options for the use of an engine. Options in the address take precedence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineOptions {
    /// The name of the store: several may be on one engine. Letters, digits, `-` and `_`.
    pub name: String,
    /// Copies of everything, each on another server: 1, 3 or 5.
    pub replicas: u8,
    /// Partitions, if the store is made now.
    pub partitions: u16,
    /// Streams that their journals are in, if the store is made now. Each has a leader of its own.
    pub streams: u16,
    /// Guarantee that acknowledgements must have, or connecting fails. By default: the loss of one machine with
    /// several copies, the end of a process with one.
    pub survives: Option<Survives>,
    /// Believe that the servers flush before they acknowledge, if they do not let themselves be asked.
    pub sync_believed: bool,
    /// Longest time of a request; after it, the outcome is unknown.
    pub request_timeout: Duration,
    /// Certificates (PEM) of authorities for the servers', beside the machine's own.
    pub ca: Option<PathBuf>,
    /// This node's certificate and its key (PEM).
    pub certificate: Option<(PathBuf, PathBuf)>,
}

impl EngineOptions {
    /// Returns the guarantee that acknowledgements must have.
    pub(crate) fn asked(&self) -> Survives {
        self.survives.unwrap_or(if self.replicas > 1 { Survives::OneMachine } else { Survives::Process })
    }
}

impl Default for EngineOptions {
    fn default() -> Self {
        Self {
            name: "whimbrel".to_owned(),
            replicas: 3,
            partitions: limits::STORE_PARTITIONS,
            streams: limits::STORE_NATS_STREAMS,
            survives: None,
            sync_believed: false,
            request_timeout: Duration::from_millis(limits::STORE_NATS_REQUEST_MS),
            ca: None,
            certificate: None,
        }
    }
}

/// Parsed address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    /// `HOST:PORT`, with the scheme that says whether it is to be TLS.
    pub servers: Vec<String>,
    pub tls: bool,
    pub user: Option<(String, String)>,
    pub options: EngineOptions,
}

impl Address {
    /// Parses an address; `options` are the defaults.
    pub(crate) fn parse(text: &str, options: EngineOptions) -> Result<Self, ConnectError> {
        let wrong = |why: String| ConnectError::Address { address: without_password(text), why };
        let (scheme, rest) = text.split_once("://").ok_or_else(|| wrong("expected nats:// or tls://".into()))?;
        let tls = match scheme {
            "nats" => false,
            "tls" => true,
            other => return Err(wrong(format!("expected nats:// or tls://, found {other}://"))),
        };
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, name) = rest.split_once('/').unwrap_or((rest, ""));
        let (user, hosts) = match authority.rsplit_once('@') {
            Some((user, hosts)) => (Some(credentials(user).map_err(&wrong)?), hosts),
            None => (None, authority),
        };
        let servers: Result<Vec<String>, String> = hosts.split(',').map(|host| server(scheme, host)).collect();
        let mut address = Self { servers: servers.map_err(&wrong)?, tls, user, options };
        if !name.is_empty() {
            address.options.name = name.to_owned();
        }
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            address.set(pair).map_err(&wrong)?;
        }
        address.check().map_err(wrong)?;
        Ok(address)
    }

    fn set(&mut self, pair: &str) -> Result<(), String> {
        let (key, value) = pair.split_once('=').ok_or_else(|| format!("{pair} is not KEY=VALUE"))?;
        let value = decoded(value)?;
        let number = || value.parse::<u16>().map_err(|_| format!("{key} needs a number, not {value}"));
        let options = &mut self.options;
        match key {
            "replicas" => options.replicas = u8::try_from(number()?).unwrap_or(u8::MAX),
            "partitions" => options.partitions = number()?,
            "streams" => options.streams = number()?,
            "timeout_ms" => options.request_timeout = Duration::from_millis(number()?.into()),
            "sync" if value == "always" => options.sync_believed = true,
            "sync" => return Err("sync can only be set to `always`".into()),
            "outlives" => options.survives = Some(outlives(&value)?),
            "ca" => options.ca = Some(value.into()),
            "cert" => {
                let key = options.certificate.take().map(|(_, key)| key).unwrap_or_default();
                options.certificate = Some((value.into(), key));
            }
            "key" => {
                let cert = options.certificate.take().map(|(cert, _)| cert).unwrap_or_default();
                options.certificate = Some((cert, value.into()));
            }
            _ => {
                let known = "replicas, partitions, streams, timeout_ms, outlives, sync, ca, cert, key";
                return Err(format!("unknown option {key}: the options are {known}"));
            }
        }
        Ok(())
    }

    fn check(&self) -> Result<(), String> {
        let EngineOptions { name, replicas, partitions, streams, request_timeout, certificate, .. } = &self.options;
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if name.is_empty() || name.len() > limits::STORE_NAME_BYTES_MAX || !name.chars().all(plain) {
            return Err(format!("invalid store name {name:?}: use letters, digits, - and _"));
        }
        if ![1, 3, 5].contains(replicas) {
            return Err(format!("replicas can be 1, 3 or 5, not {replicas}"));
        }
        if *partitions == 0 || *streams == 0 || streams > partitions {
            return Err("streams must be at least 1, and at most the number of partitions".into());
        }
        if *partitions > limits::STORE_PARTITIONS_MAX {
            return Err(format!("partitions can be at most {}", limits::STORE_PARTITIONS_MAX));
        }
        if request_timeout.is_zero() {
            return Err("timeout_ms must be at least 1".into());
        }
        if certificate.as_ref().is_some_and(|(cert, key)| cert.as_os_str().is_empty() || key.as_os_str().is_empty()) {
            return Err("cert and key must be given together".into());
        }
        Ok(())
    }
}

/// Parses the guarantee.
fn outlives(text: &str) -> Result<Survives, String> {
    match text {
        "process" => Ok(Survives::Process),
        "power-cut" => Ok(Survives::PowerCut),
        "machine" => Ok(Survives::OneMachine),
        "machine-and-power-cut" => Ok(Survives::OneMachineAndPowerCut),
        _ => Err("outlives must be process, power-cut, machine or machine-and-power-cut".into()),
    }
}

fn server(scheme: &str, host: &str) -> Result<String, String> {
    let (name, port) = match host.rsplit_once(':') {
        // The colons of an IPv6 address are not a port's.
        Some((name, port)) if !port.ends_with(']') => (name, port),
        _ => (host, ""),
    };
    if name.is_empty() || name.contains(|c: char| c.is_whitespace() || c == '@') {
        return Err(format!("{host:?} is not HOST or HOST:PORT"));
    }
    let port = if port.is_empty() { PORT } else { port.parse().map_err(|_| format!("{port} is not a port"))? };
    Ok(format!("{scheme}://{name}:{port}"))
}

fn credentials(text: &str) -> Result<(String, String), String> {
    let (user, password) = text.split_once(':').unwrap_or((text, ""));
    Ok((decoded(user)?, decoded(password)?))
}

/// Decodes %XX.
fn decoded(text: &str) -> Result<String, String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        if first != b'%' {
            bytes.push(first);
            rest = after;
            continue;
        }
        let hex = after.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        let byte = hex.and_then(|hex| u8::from_str_radix(hex, 16).ok());
        bytes.push(byte.ok_or("% needs two hexadecimal digits after it")?);
        rest = after.get(2..).unwrap_or_default();
    }
    String::from_utf8(bytes).map_err(|_| "the %XX bytes are not UTF-8".into())
}

/// Returns an address as it may be shown: `***` for its password.
pub fn without_password(text: &str) -> String {
    let (scheme, rest) = text.split_once("://").unwrap_or(("", text));
    let end = rest.find('/').unwrap_or(rest.len());
    let Some(at) = rest.get(..end).and_then(|authority| authority.rfind('@')) else { return text.to_owned() };
    let user = rest.get(..at).and_then(|user| user.split(':').next()).unwrap_or_default();
    format!("{scheme}://{user}:***{}", rest.get(at..).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Address, String> {
        Address::parse(text, EngineOptions::default()).map_err(|error| error.to_string())
    }

    #[test]
    fn address_has_servers_name_and_options() {
        let address = parse("nats://a,b:1234,[::1]:5/garden?replicas=1&partitions=8&streams=2&timeout_ms=500").unwrap();
        assert_eq!(address.servers, ["nats://a:4222", "nats://b:1234", "nats://[::1]:5"]);
        assert_eq!((address.tls, address.user), (false, None));
        let options = address.options;
        assert_eq!((options.name.as_str(), options.replicas, options.partitions, options.streams), ("garden", 1, 8, 2));
        assert_eq!(options.request_timeout, Duration::from_millis(500));
        assert_eq!(options.asked(), Survives::Process);
        assert_eq!(parse("nats://a").unwrap().options.asked(), Survives::OneMachine);
        let strict = parse("nats://a?outlives=machine-and-power-cut").unwrap().options;
        assert_eq!(strict.asked(), Survives::OneMachineAndPowerCut);
    }

    #[test]
    fn credentials_and_certificates_are_read() {
        let address = parse("tls://node:p%40ss@a?ca=x.pem&cert=y.pem&key=z.pem&sync=always").unwrap();
        assert!(address.tls && address.options.sync_believed);
        assert_eq!(address.user, Some(("node".into(), "p@ss".into())));
        assert_eq!(address.options.ca, Some("x.pem".into()));
        assert_eq!(address.options.certificate, Some(("y.pem".into(), "z.pem".into())));
        assert_eq!(address.options.name, "whimbrel");
    }

    #[test]
    fn error_omits_the_password() {
        let cases = [
            ("localhost:4222", "expected nats:// or tls://"),
            ("http://a", "found http://"),
            ("nats://", "is not HOST or HOST:PORT"),
            ("nats://a:x", "x is not a port"),
            ("nats://a/b c", "invalid store name"),
            ("nats://a?replicas=2", "replicas can be 1, 3 or 5, not 2"),
            ("nats://a?replicas=x", "replicas needs a number, not x"),
            ("nats://a?streams=9&partitions=8", "at most the number of partitions"),
            ("nats://a?partitions=16385", "partitions can be at most 16384"),
            ("nats://a?outlives=everything", "outlives must be process, power-cut"),
            ("nats://a?colour=red", "unknown option colour"),
            ("nats://a?sync=never", "set to `always`"),
            ("nats://a?cert=x", "cert and key must be given together"),
            ("nats://a?ca=%4", "two hexadecimal digits"),
            ("nats://a?timeout_ms=0", "timeout_ms must be at least 1"),
        ];
        for (text, why) in cases {
            let error = parse(text).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
        let error = parse("nats://me:secret@a?x").unwrap_err();
        assert!(error.contains("nats://me:***@a?x") && !error.contains("secret"), "{error}");
    }
}
