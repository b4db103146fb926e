//! HTTP port of a node: connections, encrypted or not, and the checks before a request is routed.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, Bytes, HttpBody};
use axum::http::header::CONTENT_SECURITY_POLICY;
use axum::http::{Request, Response};
use axum::response::IntoResponse;
use hyper::body::{Frame, Incoming, SizeHint};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use ring::rand::{SecureRandom, SystemRandom};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio_rustls::TlsAcceptor;
use tower_service::Service;
use whimbrel_platform::audit::{Auditor, RefusalCounts, RefusalReason};
use whimbrel_platform::limits::{
    HTTP_BUFFER_BYTES_MAX, HTTP_CONNECTIONS_MAX, HTTP_HEAD_BYTES_MAX, HTTP_HEAD_PATIENCE_MS, HTTP_HEADERS_MAX,
    HTTP_VISITORS_MAX, HTTP_WRITE_PATIENCE_MS,
};

use crate::access::{Access, Role};
use crate::doors::a2a::{A2aConfig, A2aDoor};
use crate::doors::mcp::{McpConfig, McpDoor};
use crate::pages::Pages;
use crate::patient::WriteTimeout;
use crate::preflight;
use crate::routes::{self, refused};
use crate::sessions::Sessions;
use crate::shared::{CounterEntry, GatewayState};
use crate::visitors::VisitorPlace;
use whimbrel_operator::{Operator, Reason, Refusal};

/// Time limit for the TLS handshake, and for each head of a request.
const HEAD_PATIENCE: Duration = Duration::from_millis(HTTP_HEAD_PATIENCE_MS);
/// Time limit for a client to take some of what is written.
const WRITE_PATIENCE: Duration = Duration::from_millis(HTTP_WRITE_PATIENCE_MS);
/// Interval at which a closing gateway looks for open connections.
const LOOK_EVERY: Duration = Duration::from_millis(2);
/// Pause after a failed accept.
const REST: Duration = Duration::from_millis(100);

/// Configuration of a gateway.
pub struct GatewayConfig {
    /// Port to the node.
    pub operator: Arc<dyn Operator>,
    /// Port to the sessions of programs outside, if there may be any.
    pub sessions: Option<Arc<dyn Sessions>>,
    /// Access control.
    pub access: Access,
    /// Folder of pages beside the console, if there is one.
    pub pages: Option<PathBuf>,
    /// TLS configuration, if connections are encrypted.
    pub tls: Option<Arc<rustls::ServerConfig>>,
    /// Recorder of refusals.
    pub auditor: Option<Arc<dyn Auditor>>,
    /// Door for A2A, if agents are published.
    pub a2a: Option<A2aConfig>,
    /// Door for MCP, if services of agents are offered.
    pub mcp: Option<McpConfig>,
}

/// HTTP port of a node. It is open until it is closed or dropped.
pub struct Gateway {
    shared: Arc<GatewayState>,
    door: PortAcceptor,
    address: SocketAddr,
    accepting: Mutex<Vec<AbortHandle>>,
}

/// Address of a request's sender.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClientAddress(pub SocketAddr);

/// Role of a request's token.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TokenRole(pub Option<Role>);

impl Gateway {
    /// Opens a gateway on `listener`, with the threads of `runtime`.
    ///
    /// # Errors
    /// The listener cannot be used, or the folder of pages cannot be opened.
    pub fn open(config: GatewayConfig, listener: std::net::TcpListener, runtime: &Handle) -> io::Result<Self> {
        let GatewayConfig { operator, sessions, access, pages, tls, auditor, a2a, mcp } = config;
        let pages = pages.as_deref().map(Pages::of).transpose()?;
        let address = listener.local_addr()?;
        let (a2a, timer) = a2a.map(|config| A2aDoor::open(config, tls.is_some(), runtime)).unzip();
        let (mcp, timers) = mcp.map(|config| McpDoor::open(config, runtime)).transpose()?.unzip();
        let mut shared = GatewayState::new(operator, sessions, access, pages, auditor);
        (shared.a2a, shared.mcp) = (a2a, mcp);
        let shared = Arc::new(shared);
        let tls = Arc::new(Mutex::new(tls.map(TlsAcceptor::from)));
        let door = PortAcceptor { router: routes::router(Arc::clone(&shared)), shared: Arc::clone(&shared), tls };
        let tasks = timer.into_iter().chain(timers.into_iter().flatten()).collect();
        let gateway = Self { shared, door, address, accepting: Mutex::new(tasks) };
        gateway.listen_also(listener, runtime)?;
        Ok(gateway)
    }

    /// Accepts connections of another listener, too.
    ///
    /// # Errors
    /// The listener cannot be used.
    pub fn listen_also(&self, listener: std::net::TcpListener, runtime: &Handle) -> io::Result<()> {
        listener.set_nonblocking(true)?;
        let _context = runtime.enter();
        let listener = TcpListener::from_std(listener)?;
        let accepting = runtime.spawn(accept(listener, self.door.clone())).abort_handle();
        self.accepting().push(accepting);
        Ok(())
    }

    fn accepting(&self) -> MutexGuard<'_, Vec<AbortHandle>> {
        self.accepting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Address of the first listener.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Sets the TLS configuration of new connections.
    pub fn set_tls(&self, tls: Arc<rustls::ServerConfig>) {
        *self.door.tls.lock().unwrap_or_else(PoisonError::into_inner) = Some(TlsAcceptor::from(tls));
    }

    /// Counts of refusals, by reason.
    pub fn refusals(&self) -> &RefusalCounts {
        &self.shared.refusals
    }

    /// Returns a login path: the first browser that opens it is sent to the console with this token. It works once,
    /// since other users of the machine see the path that a browser is told to open.
    ///
    /// # Errors
    /// The machine has no random numbers.
    pub fn way_in(&self, token: &str) -> io::Result<String> {
        let mut bytes = [0; 16];
        SystemRandom::new().fill(&mut bytes).map_err(|_| io::Error::other("the system has no random numbers"))?;
        let path = format!("/open/{:032x}", u128::from_be_bytes(bytes));
        self.shared.introduce(path.clone(), format!("/#token={token}"));
        Ok(path)
    }

    /// Returns the number of connected consoles.
    pub fn watchers(&self) -> usize {
        self.shared.live.load(std::sync::atomic::Ordering::Acquire)
    }

    /// Closes the port: accepts no more connections, says good-bye on the others, and waits until that is written, at
    /// most for this time. Sessions are closed by their owner.
    pub fn close(self, at_most: Duration) {
        self.accepting().drain(..).for_each(|accepting| accepting.abort());
        self.shared.closing.send_replace(true);
        let until = Instant::now() + at_most;
        while self.shared.connections.load(std::sync::atomic::Ordering::Acquire) > 0 && Instant::now() < until {
            std::thread::sleep(LOOK_EVERY);
        }
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        self.accepting().drain(..).for_each(|accepting| accepting.abort());
        self.shared.closing.send_replace(true);
    }
}

#[derive(Clone)]
struct PortAcceptor {
    router: Router,
    shared: Arc<GatewayState>,
    tls: Arc<Mutex<Option<TlsAcceptor>>>,
}

async fn accept(listener: TcpListener, door: PortAcceptor) {
    loop {
        let Ok((socket, from)) = listener.accept().await else {
            // The process has no more file descriptors, most likely: wait until some are closed.
            tokio::time::sleep(REST).await;
            continue;
        };
        let counted = CounterEntry::below(&door.shared.connections, HTTP_CONNECTIONS_MAX + HTTP_VISITORS_MAX);
        let Some((counted, visit)) = counted.zip(door.shared.visitors.enter(from.ip())) else {
            door.shared.refuse(
                RefusalReason::TooMany,
                from.ip(),
                "the node has its maximum of connections: try again in a moment",
            );
            continue;
        };
        let door = door.clone();
        tokio::spawn(async move {
            // The connection keeps its place until it ends or becomes a WebSocket.
            let (counted, visit) = (Arc::new(counted), Arc::new(visit));
            let _ = socket.set_nodelay(true);
            let tls = door.tls.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let place = Arc::clone(&visit);
            let serving = async {
                match tls {
                    None => door.serve(socket, from, counted, visit).await,
                    Some(tls) => door.serve_encrypted(socket, from, counted, visit, &tls).await,
                }
            };
            tokio::select! {
                () = serving => {}
                () = place.sent_away() => {}
            }
        });
    }
}

impl PortAcceptor {
    async fn serve_encrypted(
        self,
        socket: TcpStream,
        from: SocketAddr,
        counted: Arc<CounterEntry>,
        visit: Arc<VisitorPlace>,
        tls: &TlsAcceptor,
    ) {
        // A failed handshake is nothing that an operator could change.
        if let Ok(Ok(stream)) = tokio::time::timeout(HEAD_PATIENCE, tls.accept(socket)).await {
            self.serve(stream, from, counted, visit).await;
        }
    }

    /// Serves a connection until it ends or becomes a WebSocket.
    async fn serve(
        self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        from: SocketAddr,
        counted: Arc<CounterEntry>,
        visit: Arc<VisitorPlace>,
    ) {
        let mut closing = self.shared.closing.subscribe();
        let serving = service_fn(move |request| {
            let (door, counted, visit) = (self.clone(), Arc::clone(&counted), Arc::clone(&visit));
            async move { Ok::<_, Infallible>(door.respond(request, from, counted, visit).await) }
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_PATIENCE)
            .max_headers(HTTP_HEADERS_MAX)
            .max_header_size(HTTP_HEAD_BYTES_MAX)
            .max_buf_size(HTTP_BUFFER_BYTES_MAX)
            .serve_connection(TokioIo::new(WriteTimeout::new(stream, WRITE_PATIENCE)), serving)
            .with_upgrades();
        let mut connection = std::pin::pin!(connection);
        tokio::select! {
            _ = connection.as_mut() => return,
            () = closed(&mut closing) => connection.as_mut().graceful_shutdown(),
        }
        let _ = connection.await;
    }

    /// Answers a request, if it is meant for this node and its origin is accepted.
    async fn respond(
        self,
        request: Request<Incoming>,
        from: SocketAddr,
        counted: Arc<CounterEntry>,
        visit: Arc<VisitorPlace>,
    ) -> Response<Body> {
        let (method, shared) = (request.method().clone(), Arc::clone(&self.shared));
        let busy = BusyGuard::new(&visit);
        let response = self.route(request.map(Body::new), from, counted, &visit).await;
        shared.count_request(&method, response.status());
        response.map(|body| Body::new(BusyBody { body, _busy: busy }))
    }

    async fn route(
        mut self,
        mut request: Request<Body>,
        from: SocketAddr,
        counted: Arc<CounterEntry>,
        visit: &Arc<VisitorPlace>,
    ) -> Response<Body> {
        if let Err(why) = self.shared.access.check(request.uri(), request.headers()) {
            self.shared.refuse(RefusalReason::WrongOrigin, from.ip(), &why);
            return routes::guarded(refused(&Refusal::new(Reason::NotAllowed, why)), None);
        }
        let foreign = self.shared.access.foreign_origin(request.headers()).map(str::to_owned);
        if let Some(origin) = foreign.as_deref().filter(|_| preflight::is_one(&request)) {
            return routes::guarded(preflight::answer(request.headers()), Some(origin));
        }
        let shown = TokenRole(self.shared.access.role_of(request.headers()));
        if let Some(role) = shown.0 {
            visit.prove(role);
        }
        let policy = self.shared.access.page_policy(request.headers());
        let extensions = request.extensions_mut();
        extensions.insert(ClientAddress(from));
        extensions.insert(shown);
        extensions.insert(Arc::clone(visit));
        extensions.insert(counted);
        let response = self.router.call(request).await.into_response();
        let mut response = routes::guarded(response, foreign.as_deref());
        if let Some(policy) = policy {
            response.headers_mut().insert(CONTENT_SECURITY_POLICY, policy);
        }
        response
    }
}

/// Marks a visitor as busy until it is dropped.
struct BusyGuard(Arc<VisitorPlace>);

impl BusyGuard {
    fn new(visit: &Arc<VisitorPlace>) -> Self {
        visit.set_busy(true);
        Self(Arc::clone(visit))
    }
}

impl Drop for BusyGuard {
    fn drop(&mut self) {
        self.0.set_busy(false);
    }
}

/// Body of an answer: its visitor is busy until all of it is written.
struct BusyBody {
    body: Body,
    _busy: BusyGuard,
}

impl HttpBody for BusyBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Waits until the gateway closes.
pub(crate) async fn closed(closing: &mut watch::Receiver<bool>) {
    // Without a sender the channel is closed as well.
    let _ = closing.wait_for(|closing| *closing).await;
}
