//! Options of the connection to an XMPP server.

use clap::Args;
use whimbrel::doors::xmpp::XmppOptions;

use super::run::PORTS;

/// Connection to an XMPP server as a component.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = PORTS)]
pub struct XmppArguments {
    /// Exchange messages with SPADE's agents by an XMPP server, of which this platform is a component (XEP-0114):
    /// address of the server's port for components, or that port of this machine. The connection is not encrypted: the
    /// server should be on this machine or in a trusted network. Agents of XMPP are strangers to the policy.
    #[arg(long, value_name = "ADDRESS|PORT", requires = "xmpp_secret", value_parser = server)]
    pub xmpp: Option<String>,
    /// Domain of this platform's agents, as the server knows it.
    #[arg(long, value_name = "DOMAIN", requires = "xmpp", default_value = "whimbrel.localhost", value_parser = domain)]
    pub xmpp_domain: String,
    /// Secret that the server expects from the component.
    #[arg(long, value_name = "SECRET", env = "WHIMBREL_XMPP_SECRET", hide_env_values = true)]
    pub xmpp_secret: Option<String>,
}

impl XmppArguments {
    /// Returns the options of the library. Of several nodes, only the first has the connection.
    pub fn options(&self, is_first: bool) -> XmppOptions {
        XmppOptions {
            server: self.xmpp.clone().filter(|_| is_first),
            domain: self.xmpp_domain.clone(),
            secret: self.xmpp_secret.clone().unwrap_or_default(),
        }
    }
}

fn server(text: &str) -> Result<String, String> {
    if text.parse::<u16>().is_ok() {
        return Ok(format!("127.0.0.1:{text}"));
    }
    match text.rsplit_once(':') {
        Some((host, port)) if !host.is_empty() && port.parse::<u16>().is_ok() => Ok(text.to_owned()),
        _ => Err("expected an address as 127.0.0.1:5347, or a port".to_owned()),
    }
}

fn domain(text: &str) -> Result<String, String> {
    match !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-')) {
        true => Ok(text.to_owned()),
        false => Err("a domain has letters, digits, `.` and `-`".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn server_and_domain_are_checked() {
        assert_eq!(server("5347"), Ok("127.0.0.1:5347".to_owned()));
        assert_eq!(server("xmpp.example:5347"), Ok("xmpp.example:5347".to_owned()));
        assert!(["", "host", ":5347", "host:x"].iter().all(|text| server(text).is_err()));
        assert!(domain("agents.example").is_ok() && domain("a@b").is_err() && domain("").is_err());
    }
}
