//! Sessions over WebSocket: the gateway has the sockets, the agent port the sessions; here they meet.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};

use whimbrel_gateway::sessions::{SessionSocket, Sessions, SocketFrame};
use whimbrel_net::agent_port::{AgentPort, Messages};
use whimbrel_platform::connection_limit::ConnectionPlace;
use whimbrel_platform::session::Framing;

/// Sessions over WebSocket, which the agent port holds as it holds all others.
pub struct WebSessions(Weak<AgentPort>);

impl WebSessions {
    /// Makes the sessions of this port, as long as it exists.
    pub fn of(port: &Arc<AgentPort>) -> Self {
        Self(Arc::downgrade(port))
    }
}

impl Sessions for WebSessions {
    fn count(&self) -> usize {
        self.0.upgrade().map_or(0, |port| port.sessions())
    }

    fn frame_bytes_max(&self) -> usize {
        self.0.upgrade().map_or(0, |port| port.frame_bytes_max())
    }

    fn receive(&self, socket: SessionSocket, place: ConnectionPlace) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        let from = socket.from();
        match self.0.upgrade() {
            Some(port) => Box::pin(port.receive_messages(Box::new(Carried(socket)), from, place)),
            None => Box::pin(std::future::ready(())),
        }
    }
}

/// A WebSocket as the agent port sees it.
struct Carried(SessionSocket);

impl Messages for Carried {
    fn poll_message(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Option<Vec<u8>>>> {
        self.0.poll_frame(cx).map(|came| {
            let bytes = |frame| match frame {
                SocketFrame::Text(bytes) | SocketFrame::Binary(bytes) => Vec::from(bytes),
            };
            came.transpose().map(|frame| frame.map(bytes))
        })
    }

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.poll_ready(cx)
    }

    fn send(&mut self, message: Vec<u8>, framing: Framing) -> io::Result<()> {
        self.0.send(match framing {
            Framing::Json => SocketFrame::Text(message.into()),
            Framing::Compact => SocketFrame::Binary(message.into()),
        })
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.poll_flush(cx)
    }

    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.poll_close(cx)
    }

    fn release(&mut self) {
        self.0.release();
    }

    fn is_movable(&self) -> bool {
        self.0.is_movable()
    }

    fn move_here(&mut self) -> io::Result<()> {
        self.0.move_here()
    }

    fn places(&self) -> &[String] {
        self.0.places()
    }
}
