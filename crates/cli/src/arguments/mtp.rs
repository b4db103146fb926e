//! Options of the message transport to other agent platforms.

use clap::Args;
use whimbrel::doors::mtp::{HttpAddress, MtpOptions, MtpPeer};

use super::run::PORTS;

/// Port for messages of other agent platforms, and the platforms that are permitted.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = PORTS)]
pub struct MtpArguments {
    /// Exchange messages with JADE and other FIPA platforms over HTTP: address of the port for their messages
    /// (127.0.0.1:7778), or a port of this machine. Agents of other platforms are strangers to the policy: without a
    /// rule they may write to `ams` and `df` only.
    #[arg(long, value_name = "ADDRESS|PORT", value_parser = mtp)]
    pub mtp: Option<String>,
    /// Name of this platform for other platforms, the part of its agents' names after `@`. It must be unique among
    /// them.
    #[arg(long, value_name = "NAME", requires = "mtp", default_value = "whimbrel", value_parser = platform_name)]
    pub mtp_name: String,
    /// Address at which other platforms reach the port, if it is not the address of `--mtp`: for example behind a
    /// proxy [default: http://ADDRESS/acc].
    #[arg(long, value_name = "URL", requires = "mtp")]
    pub mtp_address: Option<HttpAddress>,
    /// Permit connections to another platform on this machine or a private network. With PLATFORM, all agents of that
    /// platform are reached there, also by their names alone. May be given several times.
    #[arg(long = "mtp-peer", value_name = "[PLATFORM=]URL", requires = "mtp")]
    pub mtp_peers: Vec<MtpPeer>,
}

impl MtpArguments {
    /// Returns the options of the library. Of the nodes that one command starts, the first has the port.
    pub fn options(&self, is_first: bool) -> MtpOptions {
        let listen = self.mtp.clone().filter(|_| is_first);
        MtpOptions { listen, address: self.mtp_address.clone(), peers: self.mtp_peers.clone() }
    }
}

fn mtp(text: &str) -> Result<String, String> {
    if text.parse::<u16>().is_ok() {
        return Ok(format!("127.0.0.1:{text}"));
    }
    match text.rsplit_once(':') {
        Some((host, port)) if !host.is_empty() && port.parse::<u16>().is_ok() => Ok(text.to_owned()),
        _ => Err("expected an address as 127.0.0.1:7778, or a port".to_owned()),
    }
}

fn platform_name(text: &str) -> Result<String, String> {
    match !text.is_empty() && text.chars().all(|c| c.is_ascii_graphic() && !matches!(c, '@' | '"' | '(' | ')' | '\\')) {
        true => Ok(text.to_owned()),
        false => Err("a platform's name has visible ASCII characters, without @ \" ( ) and \\".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_names_are_checked() {
        assert_eq!(mtp("7778"), Ok("127.0.0.1:7778".to_owned()));
        assert_eq!(mtp("[::1]:80"), Ok("[::1]:80".to_owned()));
        assert!(["", "off", ":80", "host:x"].iter().all(|text| mtp(text).is_err()));
        assert!(platform_name("bees.example:1/JADE").is_ok());
        assert!(["", "a b", "a@b", "é"].iter().all(|text| platform_name(text).is_err()));
    }
}
