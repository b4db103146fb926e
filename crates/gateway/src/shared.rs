//! State that all connections of a gateway share.

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::http::{Method, StatusCode};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use whimbrel_platform::Time;
use whimbrel_platform::audit::{Act, Auditor, Party, RefusalCounts, RefusalReason, Refused};
use whimbrel_platform::backoff::Backoff;
use whimbrel_platform::connection_limit::{ConnectionLimit, household};
use whimbrel_platform::limits::{
    HTTP_ACTS_AT_ONCE_MAX, HTTP_ANSWERS_AT_ONCE_MAX, HTTP_FAR_ANSWERS_AT_ONCE_MAX, HTTP_LONG_ANSWERS_AT_ONCE_MAX,
    HTTP_PAGES_AT_ONCE_MAX, HTTP_PAGES_EACH_MAX, HTTP_STRANGERS_EACH_MAX, HTTP_STRANGERS_MAX, HTTP_VISITORS_EACH_MAX,
    HTTP_VISITORS_MAX, LIVE_ADMIN_SOCKETS_MAX, LIVE_LOGS_MAX, LIVE_SOCKETS_MAX,
};

use crate::access::{Access, Joining, Role};
use crate::doors::a2a::A2aDoor;
use crate::doors::mcp::McpDoor;
use crate::health::{HealthReport, NodeFacts};
use crate::looks::{Cached, CachedAnswer, LookCaches, fullest_mailboxes};
use crate::metrics::RequestCounts;
use crate::pages::Pages;
use crate::routes::Admin;
use crate::sessions::Sessions;
use crate::visitors::Visitors;
use whimbrel_operator::{Answer, Operator, Reason, Refusal, Request};

/// State that all connections of a gateway share.
pub(crate) struct GatewayState {
    pub operator: Arc<dyn Operator>,
    pub sessions: Option<Arc<dyn Sessions>>,
    pub access: Access,
    pub pages: Option<Arc<Pages>>,
    pub auditor: Option<Arc<dyn Auditor>>,
    /// Door for A2A, if agents are published.
    pub a2a: Option<Arc<A2aDoor>>,
    /// Door for MCP, if services of agents are offered.
    pub mcp: Option<Arc<McpDoor>>,
    pub refusals: RefusalCounts,
    /// Requests by method and status.
    pub requests: RequestCounts,
    /// True once the gateway closes.
    pub closing: watch::Sender<bool>,
    pub connections: Arc<AtomicUsize>,
    /// Connections that are no WebSockets.
    pub visitors: Arc<Visitors>,
    /// WebSockets of sessions whose clients have not identified themselves.
    pub strangers: Arc<ConnectionLimit>,
    /// Live sockets whose clients have not identified themselves.
    pub ungreeted: Arc<Visitors>,
    /// Connections that are reading pages.
    pub readers: Arc<ConnectionLimit>,
    /// Last answer of `/health`, and its time.
    pub health: tokio::sync::Mutex<Option<(Instant, HealthReport)>>,
    pub live: Arc<AtomicUsize>,
    live_admins: Arc<AtomicUsize>,
    began: Instant,
    backoff: Mutex<Backoff>,
    joining: Mutex<Joining>,
    /// Login path that works once, and the target of its redirect.
    introduced: Mutex<Option<(String, String)>>,
    /// Permits for acts of administrators; viewers take none of them.
    acts: Arc<Semaphore>,
    /// Permits for acts of administrators that wait.
    waiting_acts: Arc<Semaphore>,
    answers: Arc<Semaphore>,
    far_answers: Arc<Semaphore>,
    long_answers: Arc<Semaphore>,
    pub logs: Arc<Semaphore>,
    pub looks: LookCaches,
}

/// Entry of a counter; it counts until it is dropped.
pub(crate) struct CounterEntry(Arc<AtomicUsize>);

impl CounterEntry {
    /// Adds one to the counter, if it is below the limit.
    pub fn below(count: &Arc<AtomicUsize>, most: usize) -> Option<Self> {
        if count.fetch_add(1, Ordering::AcqRel) < most {
            return Some(Self(Arc::clone(count)));
        }
        count.fetch_sub(1, Ordering::AcqRel);
        None
    }
}

impl Drop for CounterEntry {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Flag that is raised once the client is gone.
#[derive(Default)]
pub(crate) struct GoneFlag(Arc<AtomicBool>);

impl GoneFlag {
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0)
    }
}

impl Drop for GoneFlag {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

impl GatewayState {
    pub fn new(
        operator: Arc<dyn Operator>,
        sessions: Option<Arc<dyn Sessions>>,
        access: Access,
        pages: Option<Pages>,
        auditor: Option<Arc<dyn Auditor>>,
    ) -> Self {
        Self {
            operator,
            sessions,
            access,
            pages: pages.map(Arc::new),
            auditor,
            a2a: None,
            mcp: None,
            refusals: RefusalCounts::default(),
            requests: RequestCounts::default(),
            closing: watch::Sender::new(false),
            connections: Arc::default(),
            visitors: Visitors::of(HTTP_VISITORS_MAX, HTTP_VISITORS_EACH_MAX),
            strangers: ConnectionLimit::of(HTTP_STRANGERS_MAX, HTTP_STRANGERS_EACH_MAX),
            ungreeted: Visitors::of(HTTP_STRANGERS_MAX, HTTP_STRANGERS_EACH_MAX),
            readers: ConnectionLimit::of(HTTP_PAGES_AT_ONCE_MAX, HTTP_PAGES_EACH_MAX),
            health: tokio::sync::Mutex::default(),
            live: Arc::default(),
            live_admins: Arc::default(),
            began: Instant::now(),
            backoff: Mutex::default(),
            joining: Mutex::default(),
            introduced: Mutex::default(),
            acts: Arc::new(Semaphore::new(HTTP_ACTS_AT_ONCE_MAX)),
            waiting_acts: Arc::new(Semaphore::new(HTTP_LONG_ANSWERS_AT_ONCE_MAX)),
            answers: Arc::new(Semaphore::new(HTTP_ANSWERS_AT_ONCE_MAX)),
            far_answers: Arc::new(Semaphore::new(HTTP_FAR_ANSWERS_AT_ONCE_MAX)),
            long_answers: Arc::new(Semaphore::new(HTTP_LONG_ANSWERS_AT_ONCE_MAX)),
            logs: Arc::new(Semaphore::new(LIVE_LOGS_MAX)),
            looks: LookCaches::default(),
        }
    }

    /// Sets the login path, and the target of its redirect.
    pub fn introduce(&self, path: String, target: String) {
        *self.introduced.lock().unwrap_or_else(PoisonError::into_inner) = Some((path, target));
    }

    /// Returns the target of a login path, the first time only.
    pub fn introduced(&self, path: &str) -> Option<String> {
        let mut introduced = self.introduced.lock().unwrap_or_else(PoisonError::into_inner);
        introduced.take_if(|(known, _)| known == path).map(|(_, target)| target)
    }

    /// Counts and records a refusal.
    pub fn refuse(&self, reason: RefusalReason, from: IpAddr, detail: &str) {
        self.refusals.count(reason);
        if let Some(auditor) = &self.auditor {
            auditor.refused(&Refused::stranger(reason, from, detail));
        }
    }

    /// Counts and records that the token's role does not permit a request.
    pub fn refuse_viewer(&self, from: IpAddr, detail: &str) {
        self.refusals.count(RefusalReason::Forbidden);
        if let Some(auditor) = &self.auditor {
            let who = format!("token:viewer from {}", household(from));
            auditor.refused(&Refused::somebody(RefusalReason::Forbidden, &who, detail));
        }
    }

    /// Returns how long the answer to a wrong token of this address waits.
    pub fn wait_of_wrong_token(&self, from: IpAddr) -> Duration {
        let now = Time(u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX));
        self.backoff.lock().unwrap_or_else(PoisonError::into_inner).wrong(from, now)
    }

    /// Takes a permit for another WebSocket from this address.
    pub fn admits(&self, from: IpAddr) -> bool {
        self.joining.lock().unwrap_or_else(PoisonError::into_inner).admits(from, Instant::now())
    }

    /// Counts an answered request.
    pub fn count_request(&self, method: &Method, status: StatusCode) {
        self.requests.count(method, status);
    }

    /// Takes a place for a console. Administrators have places of their own beside those of viewers.
    pub fn live_socket(&self, role: Role) -> Option<(CounterEntry, Option<CounterEntry>)> {
        let place = match role {
            Role::Viewer => None,
            Role::Admin => Some(CounterEntry::below(&self.live_admins, LIVE_ADMIN_SOCKETS_MAX)?),
        };
        let most = LIVE_SOCKETS_MAX + self.live_admins.load(Ordering::Acquire);
        Some((CounterEntry::below(&self.live, most)?, place))
    }

    /// Executes an act for an administrator at this address, and records it. Acts that wait have permits of their own,
    /// so that those of others never wait for them.
    pub async fn act(&self, Admin(from): Admin, request: Request) -> Answer {
        let Some((action, object)) = request.act() else { return self.answer(request).await };
        let (acts, most) = match request.waits() {
            true => (&self.waiting_acts, HTTP_LONG_ANSWERS_AT_ONCE_MAX),
            false => (&self.acts, HTTP_ACTS_AT_ONCE_MAX),
        };
        let Ok(permit) = Arc::clone(acts).try_acquire_owned() else {
            let text = format!("the node executes {most} such acts already: try again when one of them is done");
            return Answer::Error(Refusal::new(Reason::Busy, text));
        };
        let auditor = self.auditor.clone();
        let record = move |answer: &Answer| {
            let (detail, from) = (answer.outcome(), format!("http {from}"));
            let who = Party::Operator("token:admin");
            let act = Act { who, from: &from, action, object: &object, detail: &detail };
            auditor.inspect(|auditor| auditor.allowed(&act));
        };
        self.answer_with(request, permit, record).await
    }

    /// Answers a viewer's request on a thread that may wait. Requests that wait, and those to other nodes, are counted
    /// apart, so that looking never waits for them.
    pub async fn answer(&self, request: Request) -> Answer {
        let permits = match () {
            // Such requests may take minutes: refuse them rather than let clients wait.
            () if request.waits() => Arc::clone(&self.long_answers).try_acquire_owned().ok(),
            () if request.asks_elsewhere() => Arc::clone(&self.far_answers).acquire_owned().await.ok(),
            () => Arc::clone(&self.answers).acquire_owned().await.ok(),
        };
        let Some(permit) = permits else {
            let text = format!("the node answers {HTTP_LONG_ANSWERS_AT_ONCE_MAX} such requests already: try again");
            return Answer::Error(Refusal::new(Reason::Busy, text));
        };
        self.answer_with(request, permit, |_| ()).await
    }

    /// Returns the cached answer to a request, or asks the node.
    pub async fn look(&self, at: &Cached<CachedAnswer>, request: &Request) -> Arc<CachedAnswer> {
        at.get(|| async { CachedAnswer::new(self.answer(request.clone()).await) }).await
    }

    /// Returns the agents with the fullest mailboxes.
    pub async fn fullest(&self) -> Arc<CachedAnswer> {
        self.look(&self.looks.fullest, &fullest_mailboxes()).await
    }

    /// Returns the facts from which the node's health follows.
    pub async fn facts(&self) -> Arc<NodeFacts> {
        self.looks.facts.get(|| NodeFacts::ask(self)).await
    }

    /// Answers on a thread that may block. `record` hears the answer even if the client is gone by then.
    async fn answer_with(
        &self,
        request: Request,
        permit: OwnedSemaphorePermit,
        record: impl FnOnce(&Answer) + Send + 'static,
    ) -> Answer {
        let gone = GoneFlag::default();
        let (operator, flag) = (Arc::clone(&self.operator), gone.flag());
        let answering = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            let answer = operator.answer(request, &|| flag.load(Ordering::Acquire));
            record(&answer);
            answer
        });
        answering.await.unwrap_or_else(|_| Answer::Error(Refusal::new(Reason::Busy, "the node could not answer")))
    }
}
