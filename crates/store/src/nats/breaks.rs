//! Counter of broken connections to the engine.
//!
//! The client connects anew by itself, often within a millisecond. A look at the state of the connection would miss
//! that, and wait for the answers of the connection before. So breaks are counted.

use async_nats::Event;
use tokio::sync::watch;

/// Counts breaks, for any number of [`Unbroken`].
#[derive(Debug, Default)]
pub(crate) struct Breaks(watch::Sender<u64>);

impl Breaks {
    /// Counts an event of the connection.
    pub(crate) fn count(&self, event: &Event) {
        if matches!(event, Event::Disconnected | Event::Closed) {
            self.0.send_modify(|breaks| *breaks += 1);
        }
    }

    /// Returns the connection as it is now: the one that is there, or comes next.
    pub(crate) fn connection(&self) -> Unbroken {
        let mut breaks = self.0.subscribe();
        breaks.mark_unchanged();
        Unbroken(breaks)
    }
}

/// A connection, from some moment on.
#[derive(Debug)]
pub(crate) struct Unbroken(watch::Receiver<u64>);

impl Unbroken {
    /// Returns when it broke, also if there has been another one since.
    pub(crate) async fn broke(&mut self) {
        if self.0.changed().await.is_err() {
            // The client is gone, and with it the counter and any answer.
            std::future::pending().await
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn break_counts_after_quick_reconnect() {
        let breaks = Breaks::default();
        let mut before = breaks.connection();
        assert!(before.broke().now_or_never().is_none());
        breaks.count(&Event::Disconnected);
        breaks.count(&Event::Connected);
        assert!(before.broke().now_or_never().is_some());
    }

    #[test]
    fn earlier_break_spares_later_connection() {
        let breaks = Breaks::default();
        breaks.count(&Event::Disconnected);
        let mut next = breaks.connection();
        breaks.count(&Event::Connected);
        assert!(next.broke().now_or_never().is_none());
        breaks.count(&Event::Closed);
        assert!(next.broke().now_or_never().is_some());
    }
}
