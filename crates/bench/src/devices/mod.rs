//! Devices over WebSocket, as in the Siebog study: thousands of devices, each with an agent whose state the node keeps.
//! Nine of ten operations write the state, one asks an agent of the node.
//!
//! The node and the devices are processes of their own, one or several of each. This module starts them, kills the node
//! in the middle if requested, and adds up the results.

mod arguments;
mod device;
mod load;
mod node;
mod tally;

use std::io::{BufRead, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use whimbrel_platform::limits::SESSIONS_MAX;

pub use self::arguments::DevicesArguments;
use self::load::DeviceReport;
use self::node::DeviceNodes;
use self::tally::StretchTally;
use super::Metrics;
use whimbrel::node::open_files;

pub use self::load::run as act;

/// Token of the devices.
const TOKEN: &str = "a-token-for-benchmarks";
/// The agent of the node that is asked.
const ORACLE: &str = "oracle";
/// Open files that a process needs beside those of its devices' connections.
const FILES_BESIDE: u64 = 200;
/// Pause before a node's memory is measured.
const REST: Duration = Duration::from_secs(2);
/// Longest time for all devices to connect, or to reconnect.
const CONNECT_PATIENCE: Duration = Duration::from_secs(600);
/// Longest silence, beyond the time of the run.
const PATIENCE: Duration = Duration::from_secs(900);

/// Results of the benchmark.
pub struct DevicesResult {
    pub metrics: Metrics,
    /// Each minute, or how long else the stretches are.
    pub minutes: Vec<StretchTally>,
}

/// The other processes: devices.
struct DeviceProcesses {
    children: Vec<(Child, ChildStdin)>,
    said: Receiver<anyhow::Result<(usize, DeviceReport)>>,
}

impl Drop for DeviceProcesses {
    fn drop(&mut self) {
        for (child, _) in &mut self.children {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Reports so far.
#[derive(Default)]
struct StretchReports {
    /// Tallies of each process, by stretch.
    minutes: Vec<StretchTally>,
    /// Number of stretches that each process reported.
    told: Vec<usize>,
    /// Number of connected devices of each process.
    connected: Vec<usize>,
    /// Time at which connections last broke.
    fell_at: Option<Instant>,
    over: usize,
    lost: u64,
    verified: u64,
    trouble: Option<String>,
}

impl DevicesArguments {
    /// Returns the parameters, as JSON.
    pub fn params(&self) -> String {
        let Self { devices, ops, seconds, bytes, gateways, .. } = self;
        let kill = self.kill_after.map_or("null".to_owned(), |seconds| seconds.to_string());
        let store = !self.volatile;
        format!(
            "\"devices\": {devices}, \"ops\": {ops}, \"seconds\": {seconds}, \"bytes\": {bytes}, \"store\": {store}, \
             \"gateways\": {gateways}, \"kill_after\": {kill}"
        )
    }
}

/// Runs the benchmark.
///
/// # Errors
/// The system allows fewer open files than there are devices, a process cannot be started or ends, or some devices do
/// not connect.
pub fn run(what: &DevicesArguments) -> anyhow::Result<DevicesResult> {
    let files = open_files::raise();
    let room = files.saturating_sub(FILES_BESIDE).min(SESSIONS_MAX as u64);
    let each = u64::from(what.devices).div_ceil(u64::from(what.gateways));
    if each > room {
        bail!(
            "a gateway with {each} devices needs as many open files, and the system allows a process {files}: \
             give --gateways {}",
            u64::from(what.devices).div_ceil(room.max(1))
        );
    }
    let mut nodes = DeviceNodes::start(what)?;
    let mut memory = vec![nodes.resident_bytes()?];
    let begun = Instant::now();
    let mut crowd = DeviceProcesses::start(what, &nodes, room)?;
    crowd.await_connected()?;
    let connected_s = begun.elapsed().as_secs_f64();
    std::thread::sleep(REST);
    memory.push(nodes.resident_bytes()?);
    let cpu = nodes.cpu_s()?;
    crowd.children.iter_mut().try_for_each(|(_, orders)| writeln!(orders))?;
    let (heard, recovered_s) = crowd.hear_out(what, &mut nodes)?;
    let cpu = if what.kill_after.is_some() { None } else { Some(nodes.cpu_s()? - cpu) };
    let grown = memory.last().zip(memory.first()).map(|(after, before)| (after - before) / f64::from(what.devices));
    if let Some(trouble) = &heard.trouble {
        eprintln!("whimbrel: {trouble}");
    }
    let metrics = figures(what, &heard, connected_s, recovered_s, grown, cpu);
    Ok(DevicesResult { metrics, minutes: heard.minutes })
}

fn figures(
    what: &DevicesArguments,
    heard: &StretchReports,
    connected_s: f64,
    recovered_s: Option<f64>,
    grown: Option<f64>,
    cpu: Option<f64>,
) -> Metrics {
    let mut all = StretchTally::default();
    heard.minutes.iter().for_each(|minute| all.add(&minute.told()));
    let done = all.done as f64;
    vec![
        ("ops_per_s", (what.seconds > 0).then(|| done / what.seconds as f64)),
        ("p50_ms", all.percentile_ms(50.0)),
        ("p99_ms", all.percentile_ms(99.0)),
        ("max_ms", all.max_ms()),
        ("errors", Some(all.errors as f64)),
        ("lost", Some(heard.lost as f64)),
        ("verified", Some(heard.verified as f64)),
        ("bytes_per_device", grown),
        ("connected_s", Some(connected_s)),
        ("recovered_s", recovered_s),
        ("node_cpu_s_per_million", cpu.filter(|_| done > 0.0).map(|cpu| cpu / done * 1e6)),
    ]
}

impl DeviceProcesses {
    /// Starts the processes with devices: none has more devices than it may have open files, or a gateway.
    fn start(what: &DevicesArguments, nodes: &DeviceNodes, room: u64) -> anyhow::Result<Self> {
        let processes = u64::from(what.devices).div_ceil(room.max(1)).max(1);
        let each = u64::from(what.devices).div_ceil(processes) as u32;
        let program = std::env::current_exe().context("cannot find the path of this program")?;
        let (tell, said) = channel();
        let mut children = Vec::new();
        for (number, first) in (0..what.devices).step_by(each.max(1) as usize).enumerate() {
            let count = each.min(what.devices - first);
            let mut child = Command::new(&program)
                .args(std::env::args_os().skip(1))
                .args(["--node", &nodes.address, "--share", &format!("{first}+{count}")])
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .context("cannot start a process with devices")?;
            let lines = BufReader::new(child.stdout.take().context("its output is a pipe")?).lines();
            children.push((child.stdin.take().context("its input is a pipe")?, child));
            let tell = tell.clone();
            std::thread::spawn(move || {
                for line in lines.map_while(Result::ok) {
                    let said = serde_json::from_str(&line).map(|said| (number, said)).context("not as agreed");
                    let _ = tell.send(said);
                }
            });
        }
        let children = children.into_iter().map(|(orders, child)| (child, orders)).collect();
        Ok(Self { children, said })
    }

    fn next(&mut self, at_most: Duration) -> anyhow::Result<Option<(usize, DeviceReport)>> {
        match self.said.recv_timeout(at_most) {
            Ok(said) => said.map(Some),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => bail!("the processes with the devices ended before their time"),
        }
    }

    /// Waits until all devices have their agents.
    fn await_connected(&mut self) -> anyhow::Result<()> {
        let until = Instant::now() + CONNECT_PATIENCE;
        let mut waiting = self.children.len();
        while waiting > 0 {
            let left = until.saturating_duration_since(Instant::now());
            match self.next(left)? {
                Some((_, DeviceReport::Connected)) => waiting -= 1,
                Some(_) => {}
                None => bail!("the devices are not all connected after {} s", CONNECT_PATIENCE.as_secs()),
            }
        }
        Ok(())
    }

    /// Collects the devices' reports until the run is over, and kills the node in the middle if requested. Returns the
    /// time until all devices were back.
    fn hear_out(
        &mut self,
        what: &DevicesArguments,
        nodes: &mut DeviceNodes,
    ) -> anyhow::Result<(StretchReports, Option<f64>)> {
        let processes = self.children.len();
        let mut heard =
            StretchReports { told: vec![0; processes], connected: self.shares(what), ..StretchReports::default() };
        let begun = Instant::now();
        let until = begun + Duration::from_secs(what.seconds) + PATIENCE;
        let (mut kill_at, mut killed, mut recovered_s) = (what.kill_after.map(Duration::from_secs), None, None);
        while heard.over < processes {
            let now = begun.elapsed();
            if kill_at.is_some_and(|at| at <= now) {
                kill_at = None;
                killed = Some(Instant::now());
                nodes.kill_and_start()?;
            }
            let wait = kill_at.map_or(Duration::from_secs(1), |at| at.saturating_sub(now));
            if let Some((number, said)) = self.next(wait.min(Duration::from_secs(1)))? {
                heard.take(number, said, what);
            }
            let all = heard.connected.iter().sum::<usize>() >= what.devices as usize;
            if let Some(killed) = killed.filter(|killed| recovered_s.is_none() && all && heard.has_fallen(killed)) {
                recovered_s = Some(killed.elapsed().as_secs_f64());
            }
            if Instant::now() > until {
                bail!("nothing more is heard of the devices");
            }
        }
        Ok((heard, recovered_s))
    }

    fn shares(&self, what: &DevicesArguments) -> Vec<usize> {
        let each = (what.devices as usize).div_ceil(self.children.len().max(1));
        (0..self.children.len()).map(|number| each.min(what.devices as usize - number * each)).collect()
    }
}

impl StretchReports {
    /// Returns true if the connections were reported as broken since then.
    fn has_fallen(&self, killed: &Instant) -> bool {
        self.fell_at.is_some_and(|at| at >= *killed)
    }

    fn take(&mut self, number: usize, said: DeviceReport, what: &DevicesArguments) {
        match said {
            DeviceReport::Connected => {}
            DeviceReport::Devices { connected } => {
                if let Some(place) = self.connected.get_mut(number) {
                    if connected < *place {
                        self.fell_at = Some(Instant::now());
                    }
                    *place = connected;
                }
            }
            DeviceReport::Minute { tally } => {
                let Some(told) = self.told.get_mut(number) else { return };
                *told += 1;
                let at = *told;
                if self.minutes.len() < at {
                    self.minutes.resize_with(at, StretchTally::default);
                }
                if let Some(minute) = self.minutes.get_mut(at - 1) {
                    minute.add(&tally);
                }
                self.note_progress(at, what);
            }
            DeviceReport::Over { lost, verified, trouble } => {
                self.over += 1;
                self.lost += lost;
                self.verified += verified;
                self.trouble = self.trouble.take().or(trouble);
            }
        }
    }

    /// Says how the stretch was that all processes have told of.
    fn note_progress(&self, at: usize, what: &DevicesArguments) {
        if what.json || self.told.iter().any(|told| *told < at) {
            return;
        }
        if let Some(minute) = self.minutes.get(at - 1) {
            let ms = |ms: Option<f64>| ms.map_or("-".to_owned(), |ms| format!("{ms:.2} ms"));
            let (p50, p99) = (minute.percentile_ms(50.0), minute.percentile_ms(99.0));
            let (done, errors) = (minute.done, minute.errors);
            let (p50, p99, max) = (ms(p50), ms(p99), ms(minute.max_ms()));
            eprintln!("{at:>4}: {done} done, {errors} errors, p50 {p50}, p99 {p99}, max {max}");
        }
    }
}

/// Returns the stretches, as JSON.
pub fn stretches(minutes: &[StretchTally]) -> String {
    let minute = |minute: &StretchTally| {
        super::object(&vec![
            ("done", Some(minute.done as f64)),
            ("errors", Some(minute.errors as f64)),
            ("late", Some(minute.late as f64)),
            ("p50_ms", minute.percentile_ms(50.0)),
            ("p99_ms", minute.percentile_ms(99.0)),
            ("max_ms", minute.max_ms()),
        ])
    };
    minutes.iter().map(minute).collect::<Vec<_>>().join(", ")
}

/// Returns a picture of the latencies over time.
///
/// # Errors
/// Nothing was done.
pub fn picture(title: &str, every_s: u64, minutes: &[StretchTally]) -> anyhow::Result<String> {
    let line = |name: &str, ms: fn(&StretchTally) -> Option<f64>| {
        let at = |number: usize| (number as u64 * every_s) as f64;
        let points = (1..).zip(minutes).filter_map(|(number, minute)| Some((at(number), ms(minute)? * 1e3)));
        (name.to_owned(), points.collect())
    };
    let lines = vec![
        line("longest", StretchTally::max_ms),
        line("99 %", |minute| minute.percentile_ms(99.0)),
        line("median", |minute| minute.percentile_ms(50.0)),
    ];
    let shown = super::TimesPicture { about: "from when an operation was due until it was done", x: "seconds" };
    Ok(super::times(title, shown, lines)?)
}
