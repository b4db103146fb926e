//! `--open`: the console in a browser, before the society begins and for as long as somebody looks.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use whimbrel_gateway::Gateway;

use crate::terminal;

/// How long a browser may take until the console is there; then the society begins without.
const OPENS_WITHIN: Duration = Duration::from_secs(15);
/// How long nobody may look, after the society has ended, until that counts: who loads the page anew is gone for a moment.
const AWAY_AT_MOST: Duration = Duration::from_secs(3);
/// How often that is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// A console that somebody looks at, or is about to.
pub struct Opened {
    gateway: Arc<Gateway>,
    /// Told when the society is to end, as by Ctrl-C.
    reasons: Receiver<()>,
}

impl Opened {
    /// Opens the console in a browser, and waits until it is there, so that it shows everything from the first message. `None` if there is
    /// no browser: the society does without.
    pub fn open(gateway: &Arc<Gateway>, url: &str, reasons: Receiver<()>) -> Option<Self> {
        if let Err(why) = show(url) {
            terminal::note(&format!("no browser opens the console: {why}"));
            return None;
        }
        Some(Self { gateway: Arc::clone(gateway), reasons })
    }

    /// Waits for the console. False if the society is to end before it has begun.
    pub fn wait(&self) -> bool {
        let until = Instant::now() + OPENS_WITHIN;
        while self.gateway.watchers() == 0 && Instant::now() < until {
            match self.reasons.recv_timeout(LOOK_EVERY) {
                Err(RecvTimeoutError::Timeout) => {}
                Ok(()) | Err(RecvTimeoutError::Disconnected) => return false,
            }
        }
        true
    }

    /// Stays as long as somebody looks, once the society has ended by itself.
    pub fn stay(self) {
        let mut seen = Instant::now();
        if self.gateway.watchers() > 0 {
            terminal::note("the society has ended; the console stays until it is closed, or Ctrl-C");
        }
        while self.gateway.watchers() > 0 || seen.elapsed() < AWAY_AT_MOST {
            if self.gateway.watchers() > 0 {
                seen = Instant::now();
            }
            if !matches!(self.reasons.recv_timeout(LOOK_EVERY), Err(RecvTimeoutError::Timeout)) {
                return;
            }
        }
    }
}

/// Has a browser show a page: that which `BROWSER` names, or the usual one.
fn show(url: &str) -> Result<(), String> {
    if let Some(browser) = std::env::var("BROWSER").ok().filter(|browser| !browser.is_empty()) {
        return open::with_detached(url, browser).map_err(|error| error.to_string());
    }
    let needs_display = cfg!(all(unix, not(target_os = "macos")));
    let has_display =
        ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()));
    if needs_display && !has_display {
        return Err("this terminal has no display".to_owned());
    }
    open::that_detached(url).map_err(|error| error.to_string())
}
