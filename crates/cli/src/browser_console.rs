//! `--open` and `--keep`: the console in a browser before the society begins, and the console of an ended society.

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

/// Wishes about the console of a society.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConsoleWishes {
    /// The console opens in a browser before the society begins.
    pub opens: bool,
    /// The console stays after the society's end until Ctrl-C.
    pub is_kept: bool,
}

/// Console that a browser has open or is about to open, or that stays for whoever looks.
pub struct BrowserConsole {
    gateway: Arc<Gateway>,
    /// Told when the society is to end, as by Ctrl-C.
    reasons: Receiver<()>,
    /// Address for a browser, with the token.
    address: String,
    /// True if a browser was started.
    is_opened: bool,
    is_kept: bool,
}

impl BrowserConsole {
    /// Opens the console as wished. Without a browser, says which address to open. Returns `None` if there is nothing
    /// to wait for: the society then runs without the console.
    pub fn open(
        wishes: ConsoleWishes,
        gateway: &Arc<Gateway>,
        console: &ConsoleAt,
        reasons: Receiver<()>,
    ) -> Option<Self> {
        let way_in = || gateway.way_in(&console.token).map_err(|error| error.to_string());
        let shown = wishes.opens.then(|| way_in().and_then(|path| show(&format!("{}{path}", console.here()))));
        let address = console.to_string();
        let is_opened = matches!(shown, Some(Ok(())));
        if let Some(Err(why)) = shown {
            let hint = if wishes.is_kept { "" } else { " while the society runs, or give --keep" };
            terminal::note(&format!("cannot open the console in a browser: {why}: open {address}{hint}"));
        }
        let (gateway, is_kept) = (Arc::clone(gateway), wishes.is_kept);
        (is_opened || is_kept).then_some(Self { gateway, reasons, address, is_opened, is_kept })
    }

    /// Waits until a started browser is connected, so that it shows everything from the first message. False if the
    /// society is to end before it has begun.
    pub fn wait(&self) -> bool {
        if !self.is_opened {
            return true;
        }
        let until = Instant::now() + OPENS_WITHIN;
        while self.gateway.watchers() == 0 && Instant::now() < until {
            match self.reasons.recv_timeout(LOOK_EVERY) {
                Err(RecvTimeoutError::Timeout) => {}
                Ok(()) | Err(RecvTimeoutError::Disconnected) => return false,
            }
        }
        true
    }

    /// Waits until Ctrl-C if the console is kept, else until no browser has it open, once the society has ended by
    /// itself. Returns whether it said that the console stays.
    pub fn stay(self) -> bool {
        let is_asked_to_end = !matches!(self.reasons.try_recv(), Err(TryRecvError::Empty));
        if is_asked_to_end {
            return false;
        }
        if self.is_kept {
            terminal::note(&format!("the console stays at {} until Ctrl-C", self.address));
            // An error means that nothing can end the process but a signal that needs no help from here.
            let _ = self.reasons.recv();
            return true;
        }
        let has_watchers = self.gateway.watchers() > 0;
        if has_watchers {
            terminal::note("the console stays open until you close its page or press Ctrl-C");
        }
        self.wait_for_watchers();
        has_watchers
    }

    /// Waits until no browser has the console open, or Ctrl-C.
    fn wait_for_watchers(&self) {
        let mut seen = Instant::now();
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
    if !crate::system::has_display() {
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
