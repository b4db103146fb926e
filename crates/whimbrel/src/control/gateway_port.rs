//! A node as its gateway sees it.

use std::io;
use std::ops::ControlFlow;

use whimbrel_operator::{
    AgentsWanted, Answer, Feed, Latency, LogLine, LogWanted, NodeWatch, Operator, Reason, Refusal, Request, Traffic,
    WaitPercentiles,
};
use whimbrel_runtime::{DEVICES, LatencyWatch};

use super::operator_service::OperatorService;
use super::sniffer::EventFeed;
use super::traffic::TrafficCount;
use super::{bulk, history, remote_query};

impl Operator for OperatorService {
    fn answer(&self, request: Request, gone: &dyn Fn() -> bool) -> Answer {
        if let Request::Agents(wanted @ AgentsWanted { elsewhere_but: Some(_), .. }) = &request {
            return Answer::Agents(remote_query::agents(self, wanted));
        }
        if let Some(node) = self.elsewhere(DEVICES).filter(|_| matches!(request, Request::Devices { .. })) {
            return remote_query::ask(self, &node, &request);
        }
        if let Some((pattern, operation)) = bulk::bulk_of(&request) {
            return bulk::everywhere(self, pattern, operation, &request);
        }
        let there = request.clone();
        match Self::answer(self, request, gone) {
            // A user of a browser cannot ask that node directly.
            Answer::Error(Refusal { reason: Reason::Elsewhere, node: Some(node), .. }) => {
                remote_query::ask(self, &node, &there)
            }
            answer => answer,
        }
    }

    fn refusals(&self) -> Vec<(&'static str, u64)> {
        self.refusals.counts()
    }

    fn watch(&self, wanted: NodeWatch) -> Box<dyn Feed> {
        match wanted {
            NodeWatch::Events(wanted) => Box::new(EventFeed::of_events(&self.platform, self.node(), &wanted)),
            NodeWatch::Mobility => Box::new(EventFeed::of_moves(&self.platform, self.node())),
            NodeWatch::Security => Box::new(self.refusals.watch(self.node())),
        }
    }

    fn count_traffic(&self) -> Box<dyn Traffic> {
        Box::new(TrafficCount::begin(&self.platform))
    }

    fn measure_latency(&self) -> Box<dyn Latency> {
        Box::new(WaitGauge(self.platform.measure_latency()))
    }

    fn log(&self, wanted: &LogWanted, line: &mut dyn FnMut(LogLine) -> ControlFlow<()>) -> Result<(), Refusal> {
        let mut tell = |told: &LogLine| match line(told.clone()) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(io::ErrorKind::BrokenPipe.into()),
        };
        match history::tell(self.kept_log()?, self.node(), wanted, &mut tell) {
            Ok(()) | Err(history::HistoryEnd::Gone(_)) => Ok(()),
            Err(history::HistoryEnd::Refused(refusal)) => Err(refusal),
        }
    }
}

/// Gauge of the time that messages wait at this node.
struct WaitGauge(LatencyWatch);

impl Latency for WaitGauge {
    fn waits(&self) -> Option<WaitPercentiles> {
        let waits = self.0.percentiles()?;
        Some(WaitPercentiles { p50: waits.p50_us, p90: waits.p90_us, p99: waits.p99_us })
    }
}
