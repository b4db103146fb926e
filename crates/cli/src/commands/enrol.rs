//! `whimbrel enrol`: a certificate for this node, for a token.

use std::process::ExitCode;

use anyhow::{Context, bail};
use whimbrel_net::{EnrolmentToken, enrolment};

use crate::arguments::EnrolArguments;
use whimbrel::node::credentials;
use whimbrel_terminal::screen::print;

/// Enrols.
pub fn enrol(arguments: &EnrolArguments) -> anyhow::Result<ExitCode> {
    let EnrolArguments { address, token, out } = arguments;
    let token: EnrolmentToken = token.parse()?;
    if credentials::are_in(out) {
        bail!("{} already contains credentials: choose another folder", out.display());
    }
    // The token works once: what can go wrong here is to go wrong before.
    credentials::prepare(out)?;
    let got = enrolment::enrol(address, &token)?;
    credentials::write(&got, out)?;
    credentials::write_authority_address(out, address)?;
    let line = format!("{} is enrolled; its keys and certificates are in {}", token.node(), out.display());
    print(&line).context("cannot write to standard output")?;
    Ok(ExitCode::SUCCESS)
}
