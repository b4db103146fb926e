//! `--open`: the console in a browser, before the society begins and for as long as a browser has it open.

use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::{Duration, Instant};

use whimbrel_gateway::Gateway;

use whimbrel::node::http_port::ConsoleAt;
use whimbrel_terminal as terminal;

/// Longest wait for the console in the browser; the society then begins without it.
const OPENS_WITHIN: Duration = Duration::from_secs(15);
/// Time without viewers after which an ended society closes its console: a reload takes a moment.
const AWAY_AT_MOST: Duration = Duration::from_secs(3);
/// Interval of checks for viewers.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Console that a browser has open, or is about to open.
pub struct BrowserConsole {
    gateway: Arc<Gateway>,
    /// Told when the society is to end, as by Ctrl-C.
    reasons: Receiver<()>,
}

impl BrowserConsole {
    /// Opens the console in a browser and waits until it is connected, so that it shows everything from the first
    /// message. Returns `None` if there is no browser; the society then runs without the console.
    pub fn open(gateway: &Arc<Gateway>, console: &ConsoleAt, reasons: Receiver<()>) -> Option<Self> {
        let way_in = gateway.way_in(&console.token).map_err(|error| error.to_string());
        if let Err(why) = way_in.and_then(|path| show(&format!("{}{path}", console.here()))) {
            terminal::note(&format!("cannot open the console in a browser: {why}"));
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

    /// Waits until no browser has the console open, once the society has ended by itself.
    pub fn stay(self) {
        let is_asked_to_end = !matches!(self.reasons.try_recv(), Err(TryRecvError::Empty));
        if is_asked_to_end {
            return;
        }
        let mut seen = Instant::now();
        if self.gateway.watchers() > 0 {
            terminal::note("the society has ended; the console stays open until you close it or press Ctrl-C");
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

/// Has a browser show a page: one of those that `BROWSER` names, or the usual one.
fn show(url: &str) -> Result<(), String> {
    if let Some(browsers) = std::env::var("BROWSER").ok().filter(|browsers| !browsers.is_empty()) {
        return start_one(&browsers, url);
    }
    let needs_display = cfg!(all(unix, not(target_os = "macos")));
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    if needs_display && !["DISPLAY", "WAYLAND_DISPLAY"].into_iter().any(is_set) {
        return Err("this terminal has no display".to_owned());
    }
    open::that_detached(url).map_err(|error| error.to_string())
}

/// Starts the first of several browsers that can be started. They are separated by colons, as for `xdg-open`. Each is a
/// command, in which the page replaces `%s` or is the last argument.
fn start_one(browsers: &str, url: &str) -> Result<(), String> {
    let mut why = "BROWSER names none".to_owned();
    for command in browsers.split(':') {
        let mut words: Vec<String> = command.split_whitespace().map(|word| word.replace("%s", url)).collect();
        if !command.contains("%s") {
            words.push(url.to_owned());
        }
        let [program, arguments @ ..] = words.as_slice() else { continue };
        let mut starting = Command::new(program);
        starting.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        match starting.spawn() {
            Ok(mut browser) => {
                // A child that is not waited for stays in the process table.
                std::thread::spawn(move || browser.wait());
                return Ok(());
            }
            Err(error) => why = format!("{program}: {error}"),
        }
    }
    Err(why)
}
