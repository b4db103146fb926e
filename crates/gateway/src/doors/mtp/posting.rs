//! Posts to other platforms: which message goes when is decided by `OutgoingQueues`, here it goes.

use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustc_hash::FxHashMap;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};
use whimbrel_interop::mtp::{HttpAddress, HttpReply, Post, PostBody, PostOutcome, write_post};
use whimbrel_platform::limits::{MTP_ANSWER_PATIENCE_MS, MTP_CONNECT_PATIENCE_MS, MTP_REUSE_MS};

use super::MtpState;
use crate::outbound::OutboundError;
use crate::server::closed;

const CONNECT_PATIENCE: Duration = Duration::from_millis(MTP_CONNECT_PATIENCE_MS);
const ANSWER_PATIENCE: Duration = Duration::from_millis(MTP_ANSWER_PATIENCE_MS);
const REUSE: Duration = Duration::from_millis(MTP_REUSE_MS);
/// Longest sleep of the dispatcher.
const LONG: Duration = Duration::from_secs(3_600);

/// Open connections to other platforms that no post uses, by address, with the time since when.
#[derive(Default)]
pub(super) struct IdleConnections {
    by_address: FxHashMap<HttpAddress, Vec<(TcpStream, Instant)>>,
}

impl IdleConnections {
    /// Takes a connection to this address that is still open.
    fn take(&mut self, address: &HttpAddress) -> Option<TcpStream> {
        let idle = self.by_address.get_mut(address)?;
        loop {
            let (stream, since) = idle.pop()?;
            // A closed connection can be read from; one with unread bytes is of no use.
            let is_open =
                matches!(stream.try_read(&mut [0]), Err(error) if error.kind() == std::io::ErrorKind::WouldBlock);
            if is_open && since.elapsed() < REUSE {
                return Some(stream);
            }
        }
    }

    fn put(&mut self, address: &HttpAddress, stream: TcpStream) {
        self.by_address.entry(address.clone()).or_default().push((stream, Instant::now()));
    }

    /// Closes connections that were idle for too long.
    fn prune(&mut self) {
        self.by_address.retain(|_, idle| {
            idle.retain(|(_, since)| since.elapsed() < REUSE);
            !idle.is_empty()
        });
    }
}

/// Starts posts until the transport closes.
pub(super) async fn dispatch(state: Arc<MtpState>) {
    let mut closing = state.closing.subscribe();
    loop {
        let (posts, pause) = {
            let (mut outgoing, now) = (state.outgoing(), state.now());
            outgoing.handle_timeout(now);
            let posts: Vec<Post> = std::iter::from_fn(|| outgoing.poll_post(now)).collect();
            (posts, outgoing.poll_timeout().map_or(LONG, |until| until - now))
        };
        state.give_up_undelivered();
        for post in posts {
            tokio::spawn(post_in_turn(Arc::clone(&state), post));
        }
        tokio::select! {
            () = state.wake.notified() => {}
            () = sleep(pause.min(REUSE)) => state.idle.lock().unwrap_or_else(PoisonError::into_inner).prune(),
            () = closed(&mut closing) => return,
        }
    }
}

/// Posts a message, and then others that have become ready.
async fn post_in_turn(state: Arc<MtpState>, mut post: Post) {
    loop {
        let mut flight = PostInFlight { state: &state, post: Some(post) };
        let outcome = flight.go().await;
        let Some(flown) = flight.post.take() else { return };
        let (next, is_more) = {
            let (mut outgoing, now) = (state.outgoing(), state.now());
            outgoing.handle_posted(now, flown, outcome);
            let next = outgoing.poll_post(now);
            (next, outgoing.undelivered() > 0 || outgoing.poll_timeout().is_some() || outgoing.is_ready())
        };
        if is_more {
            state.wake.notify_one();
        }
        match next {
            Some(next) => post = next,
            None => return,
        }
    }
}

/// Post on its way. If its task ends before, the message goes back to its sender.
struct PostInFlight<'a> {
    state: &'a MtpState,
    post: Option<Post>,
}

impl PostInFlight<'_> {
    async fn go(&self) -> PostOutcome {
        match &self.post {
            Some(post) => self.state.post(post).await,
            None => PostOutcome::Accepted,
        }
    }
}

impl Drop for PostInFlight<'_> {
    fn drop(&mut self) {
        if let Some(post) = self.post.take() {
            let outcome = PostOutcome::Unanswered("this platform ends".to_owned());
            self.state.outgoing().handle_posted(self.state.now(), post, outcome);
        }
    }
}

impl MtpState {
    /// Posts a message.
    async fn post(&self, post: &Post) -> PostOutcome {
        let date_ms = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64);
        let body = match write_post(&self.home, &post.message, post.encoding, date_ms) {
            Ok(body) => body,
            Err(error) => return PostOutcome::Unsendable(error.to_string()),
        };
        let request = request(&post.to, &body);
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).take(&post.to);
        if let Some(mut stream) = idle
            // What could not be written whole, the platform does not have.
            && stream.write_all(&request).await.is_ok()
        {
            return self.answer(&post.to, stream).await;
        }
        let mut stream = match self.rules.connect(&post.to.host, post.to.port, CONNECT_PATIENCE).await {
            Ok(stream) => stream,
            // No rule will permit it in a moment.
            Err(error @ OutboundError::Private { .. }) => return PostOutcome::Refused(error.to_string()),
            Err(error) => return PostOutcome::Unreached(error.to_string()),
        };
        match timeout(ANSWER_PATIENCE, stream.write_all(&request)).await {
            Ok(Ok(())) => self.answer(&post.to, stream).await,
            Ok(Err(error)) => PostOutcome::Unreached(format!("cannot write: {error}")),
            Err(_) => PostOutcome::Unanswered("the message was not taken in time".to_owned()),
        }
    }

    /// Waits for the answer to a POST.
    async fn answer(&self, address: &HttpAddress, stream: TcpStream) -> PostOutcome {
        let late = || PostOutcome::Unanswered(format!("no answer within {} s", ANSWER_PATIENCE.as_secs()));
        timeout(ANSWER_PATIENCE, self.read_answer(address, stream)).await.unwrap_or_else(|_| late())
    }

    async fn read_answer(&self, address: &HttpAddress, mut stream: TcpStream) -> PostOutcome {
        let mut bytes = Vec::with_capacity(512);
        loop {
            let read = match stream.read_buf(&mut bytes).await {
                Ok(read) => read,
                Err(error) => return PostOutcome::Unanswered(format!("no answer: {error}")),
            };
            let reply = match HttpReply::read(&bytes, read == 0) {
                Ok(Some(reply)) => reply,
                Ok(None) => continue,
                Err(error) => return PostOutcome::Unanswered(error.to_string()),
            };
            if reply.is_kept {
                self.idle.lock().unwrap_or_else(PoisonError::into_inner).put(address, stream);
            }
            return match reply.status {
                200 => PostOutcome::Accepted,
                status => PostOutcome::Refused(format!("the platform answered {status}")),
            };
        }
    }
}

/// Returns a POST as bytes. JADE needs the space after a header's colon.
fn request(to: &HttpAddress, body: &PostBody) -> Vec<u8> {
    let head = format!(
        "POST {} HTTP/1.1\r\nHost: {}\r\nCache-Control: no-cache\r\nMime-Version: 1.0\r\nContent-Type: {}\r\n\
         Content-Length: {}\r\nConnection: Keep-Alive\r\n\r\n",
        to.path,
        to.authority(),
        body.content_type,
        body.bytes.len()
    );
    let mut request = head.into_bytes();
    request.extend_from_slice(&body.bytes);
    request
}
