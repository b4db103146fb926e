//! Watches of a live socket: a task for each, which pauses while the client does not read.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tokio::task::AbortHandle;
use whimbrel_platform::limits::{
    LIVE_AGENTS_MAX, LIVE_EVERY_MS_MAX, LIVE_EVERY_MS_MIN, LIVE_LINES_BYTES_MAX, LIVE_LINES_MAX, LIVE_PAIRS_MAX,
    OUTPUT_ANSWER_LINES_MAX,
};

use super::Outbox;
use super::changes;
use super::pulse::PulseGauge;
use super::said::{NodeFrame, WatchSubject, answer_text};
use crate::health::NodeFacts;
use crate::shared::{GatewayState, GoneFlag};
use whimbrel_operator::{
    AgentsFound, AgentsWanted, Answer, Counted, Happening, LogLine, LogWanted, NodeWatch, OutputWanted, Reason,
    Refusal, Request,
};

/// A running watch; it ends when this is dropped.
pub struct LiveWatch {
    task: AbortHandle,
    /// Stops threads, which cannot be aborted.
    _gone: GoneFlag,
}

impl Drop for LiveWatch {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Sender of a watch's updates.
struct UpdateSender {
    shared: Arc<GatewayState>,
    outbox: Outbox,
    id: u64,
}

/// Starts a watch.
///
/// # Errors
/// The node refuses the watch.
pub fn begin(
    shared: &Arc<GatewayState>,
    outbox: &Outbox,
    id: u64,
    every_ms: Option<u64>,
    what: WatchSubject,
) -> Result<LiveWatch, Refusal> {
    let teller = UpdateSender { shared: Arc::clone(shared), outbox: outbox.clone(), id };
    let every = |default: u64| pace(every_ms.unwrap_or(default));
    let gone = GoneFlag::default();
    let task = match what {
        WatchSubject::Society => tokio::spawn(teller.society(every(500))),
        WatchSubject::Agents { wanted } => tokio::spawn(teller.agents(wanted, every(1000))),
        WatchSubject::Events { wanted } => {
            tokio::spawn(teller.events(NodeWatch::Events(wanted), every(LIVE_EVERY_MS_MIN)))
        }
        WatchSubject::Mobility => tokio::spawn(teller.events(NodeWatch::Mobility, every(LIVE_EVERY_MS_MIN))),
        WatchSubject::Security => tokio::spawn(teller.events(NodeWatch::Security, every(LIVE_EVERY_MS_MIN))),
        WatchSubject::Output { wanted } => tokio::spawn(teller.output(wanted, every(200))),
        WatchSubject::Traffic => tokio::spawn(teller.traffic(every(1000))),
        WatchSubject::Health => tokio::spawn(teller.health(every(1000))),
        WatchSubject::Mind { agent } => {
            tokio::spawn(teller.answer(Request::Mind { agent, follow: true }, every(200), true))
        }
        WatchSubject::Answer { request } => tokio::spawn(teller.answer(request, every(500), false)),
        WatchSubject::Log { wanted } => {
            let permit = Arc::clone(&shared.logs).try_acquire_owned();
            let permit = permit.map_err(|_| {
                Refusal::new(Reason::Busy, "the log of conversations has too many readers: try again in a moment")
            })?;
            let flag = gone.flag();
            tokio::task::spawn_blocking(move || {
                teller.log(&wanted, &flag);
                drop(permit);
            })
        }
    };
    Ok(LiveWatch { task: task.abort_handle(), _gone: gone })
}

/// Clock of a watch: ticks at once, then at an interval; late ticks are not made up for. All watches tick at the same
/// moments, so that one computation serves several.
struct WatchPace {
    every: Duration,
    last: Option<Instant>,
}

fn pace(every_ms: u64) -> WatchPace {
    let every = Duration::from_millis(every_ms.clamp(LIVE_EVERY_MS_MIN, LIVE_EVERY_MS_MAX));
    WatchPace { every, last: None }
}

impl WatchPace {
    async fn tick(&mut self) {
        static BEGAN: OnceLock<Instant> = OnceLock::new();
        let began = *BEGAN.get_or_init(Instant::now);
        let now = Instant::now();
        if let Some(last) = self.last {
            // Two ticks are at least half an interval apart.
            let since = now.max(last + self.every / 2).duration_since(began);
            let ticks = since.as_nanos() / self.every.as_nanos().max(1) + 1;
            let at = began + self.every.saturating_mul(u32::try_from(ticks).unwrap_or(u32::MAX));
            tokio::time::sleep_until(at.into()).await;
        }
        self.last = Some(Instant::now());
    }
}

fn now_us() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as u64)
}

impl UpdateSender {
    /// Waits for room in the queue; false if the client is gone.
    async fn tell(&self, told: NodeFrame<'_>) -> bool {
        self.outbox.send(told.text()).await.is_ok()
    }

    async fn refuse(&self, refusal: Refusal) {
        self.tell(NodeFrame::Refused { id: Some(self.id), refusal }).await;
    }

    async fn society(self, mut ticks: WatchPace) {
        loop {
            ticks.tick().await;
            let facts = self.shared.facts().await;
            let Some(node) = &facts.node else { continue };
            let NodeFacts { nodes, vacant, links, .. } = &*facts;
            let wrong = &facts.wrong();
            let told = NodeFrame::Society { id: self.id, at_us: now_us(), node, nodes, vacant, links, wrong };
            if !self.tell(told).await {
                return;
            }
        }
    }

    async fn agents(self, mut wanted: AgentsWanted, mut ticks: WatchPace) {
        wanted.limit = wanted.limit.min(LIVE_AGENTS_MAX);
        let (mut told, mut before) = (changes::KnownAgents::default(), None);
        let request = Request::Agents(wanted);
        let look = self.shared.looks.of(&request);
        loop {
            ticks.tick().await;
            let seen = self.shared.look(&look, &request).await;
            let found = match &seen.answer {
                Answer::Agents(found) => found,
                Answer::Error(refusal) => return self.refuse(refusal.clone()).await,
                _ => return,
            };
            let AgentsFound { agents, total, silent } = found;
            let (changed, gone) = told.changes(agents);
            let (total, silent) = (*total, silent.clone());
            let now = (total, silent.clone());
            let is_same = changed.is_empty() && gone.is_empty() && before.as_ref() == Some(&now);
            let first = before.replace(now).is_none();
            let told = match first {
                true => NodeFrame::Agents { id: self.id, total, agents: agents.clone(), silent },
                false if is_same => continue,
                false => NodeFrame::AgentsChanged { id: self.id, total, changed, gone, silent },
            };
            if !self.tell(told).await {
                return;
            }
        }
    }

    async fn events(self, watched: NodeWatch, mut ticks: WatchPace) {
        let mut feed = self.shared.operator.watch(watched);
        loop {
            ticks.tick().await;
            let events = feed.take();
            if !events.is_empty() && !self.tell(NodeFrame::Events { id: self.id, events }).await {
                return;
            }
        }
    }

    async fn output(self, mut wanted: OutputWanted, mut ticks: WatchPace) {
        let mut before = None;
        loop {
            ticks.tick().await;
            let request = Request::Output { wanted: wanted.clone(), limit: OUTPUT_ANSWER_LINES_MAX };
            let found = match self.shared.answer(request).await {
                Answer::Output(found) => found,
                Answer::Error(refusal) => return self.refuse(refusal).await,
                _ => return,
            };
            wanted.since = found.next;
            let counts = (found.printed, found.faults);
            let is_same = found.lines.is_empty() && before == Some(counts);
            before = Some(counts);
            if !is_same && !self.tell(NodeFrame::Output { id: self.id, found }).await {
                return;
            }
        }
    }

    async fn traffic(self, mut ticks: WatchPace) {
        let mut traffic = self.shared.operator.count_traffic();
        ticks.tick().await;
        loop {
            ticks.tick().await;
            let Counted { pairs, unseen } = traffic.take(LIVE_PAIRS_MAX);
            let pairs = pairs.into_iter().map(|pair| (pair.from, pair.to, pair.count)).collect();
            if !self.tell(NodeFrame::Traffic { id: self.id, at_us: now_us(), pairs, unseen }).await {
                return;
            }
        }
    }

    async fn health(self, mut ticks: WatchPace) {
        let mut gauge = PulseGauge::new(&self.shared);
        loop {
            ticks.tick().await;
            let Some(pulse) = gauge.read(&self.shared).await else { continue };
            if !self.tell(NodeFrame::Health { id: self.id, at_us: now_us(), pulse }).await {
                return;
            }
        }
    }

    /// Repeats a request, and sends the answer when it changes. The watch of a mind sends the mind, and ends when the
    /// agent is gone.
    async fn answer(self, request: Request, mut ticks: WatchPace, is_mind: bool) {
        let (look, mut before) = (self.shared.looks.of(&request), None);
        loop {
            ticks.tick().await;
            let seen = self.shared.look(&look, &request).await;
            if let (Answer::Error(refusal), true) = (&seen.answer, is_mind) {
                return self.refuse(refusal.clone()).await;
            }
            let (written, hash) = seen.written();
            if before.replace(hash) == Some(hash) {
                continue;
            }
            let text = match &seen.answer {
                Answer::Mind(mind) if is_mind => NodeFrame::Mind { id: self.id, mind: mind.clone() }.text(),
                _ => answer_text(self.id, written),
            };
            if self.outbox.send(text).await.is_err() {
                return;
            }
        }
    }

    /// Sends entries of the log, on a thread that may block.
    fn log(&self, wanted: &LogWanted, gone: &AtomicBool) {
        let mut lines: Vec<LogLine> = Vec::new();
        let (mut is_told, mut bytes) = (false, 0);
        let read = self.shared.operator.log(wanted, &mut |line| {
            if gone.load(Ordering::Acquire) {
                return ControlFlow::Break(());
            }
            let is_tick = matches!(line.event.what, Happening::Tick);
            // Of a quiet time only the first tick is sent: it says that the log has no more so far.
            if is_tick && is_told && lines.is_empty() {
                return ControlFlow::Continue(());
            }
            bytes += line.bytes();
            lines.push(line);
            if !is_tick && lines.len() < LIVE_LINES_MAX && bytes < LIVE_LINES_BYTES_MAX {
                return ControlFlow::Continue(());
            }
            (is_told, bytes) = (is_tick, 0);
            let told = NodeFrame::Log { id: self.id, lines: std::mem::take(&mut lines) };
            if self.outbox.blocking_send(told.text()).is_ok() {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        });
        if let Err(refusal) = read {
            let _ = self.outbox.blocking_send(NodeFrame::Refused { id: Some(self.id), refusal }.text());
        }
    }
}
