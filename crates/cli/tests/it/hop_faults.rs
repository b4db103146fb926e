//! A node is killed in the middle of a hop, at each of its phases. A wire between the two nodes stops just before or
//! just after a piece of news, and then the process at its other end is killed (`kill -9`).
//!
//! An observer at the surviving node must find the agent there with everything that it reported as done, or learn that
//! the agent is gone. The agent is never there twice, and never with less.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use whimbrel_acl::Encoding;
use whimbrel_platform::link::{FrameKind, LinkFrame, LinkItem, News, read_items, reader};
use whimbrel_platform::mobility::HopNews;

use super::{Scratch, whimbrel};

/// Phase of the protocol at which the wire stops.
#[derive(Clone, Copy, Debug, PartialEq)]
enum HopPhase {
    Offer,
    Lacks,
    Code,
    Ready,
    Commit,
    Followed,
}

impl HopPhase {
    const ALL: [Self; 6] = [Self::Offer, Self::Lacks, Self::Code, Self::Ready, Self::Commit, Self::Followed];

    fn is_at(self, item: &LinkItem) -> bool {
        let LinkItem::News(news) = item else { return false };
        let News::Hop(news) = &**news else { return false };
        match news {
            HopNews::Offer(_) => self == Self::Offer,
            HopNews::Lacks { .. } => self == Self::Lacks,
            HopNews::Code(..) => self == Self::Code,
            HopNews::Ready(_) => self == Self::Ready,
            HopNews::Commit { .. } => self == Self::Commit,
            HopNews::Followed(..) => self == Self::Followed,
            _ => false,
        }
    }
}

/// Fault of one hop.
#[derive(Clone, Copy, Debug)]
struct HopFault {
    at: HopPhase,
    /// The node hears of it, and of nothing more.
    is_heard: bool,
    /// The node that is killed is the one that the agent leaves.
    is_source: bool,
}

impl HopFault {
    /// Returns true if the agent lives on at the other node: docs/design/mobility.md, Who has it. A commit may share a
    /// frame with what follows; then neither arrived.
    fn lives_on(self, commits: bool) -> bool {
        match (self.is_source, self.at) {
            (true, HopPhase::Followed) => commits,
            (true, HopPhase::Commit) => self.is_heard,
            (true, _) => false,
            (false, HopPhase::Ready) => !self.is_heard,
            (false, at) => !matches!(at, HopPhase::Commit | HopPhase::Followed),
        }
    }
}

/// Wire between two processes. It stops at a given piece of news and tells the waiting test, also whether the receiver
/// got a commit that was in the same frame.
struct FaultyWire {
    fault: HopFault,
    stopped: AtomicBool,
    tell: Mutex<Sender<bool>>,
}

impl FaultyWire {
    /// Returns the address to connect to instead.
    fn before(there: String, fault: HopFault) -> (String, Receiver<bool>) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("there is a port");
        let address = listener.local_addr().expect("it has one").to_string();
        let (tell, told) = channel();
        let wire = Arc::new(Self { fault, stopped: AtomicBool::new(false), tell: Mutex::new(tell) });
        std::thread::spawn(move || {
            let (near, _) = listener.accept().expect("the node connects");
            let far = TcpStream::connect(there).expect("the other one listens");
            let back = (far.try_clone().expect("it is one"), near.try_clone().expect("it is one"));
            let other = Arc::clone(&wire);
            std::thread::spawn(move || other.carry(back.0, back.1));
            wire.carry(near, far);
        });
        (address, told)
    }

    /// Carries frames one way, until one end is gone: then the other hears of that.
    fn carry(&self, mut from: TcpStream, mut to: TcpStream) {
        let (mut bytes, mut piece, mut read) = (Vec::new(), [0; 4096], reader(Encoding::Compact));
        while let Ok(count @ 1..) = from.read(&mut piece) {
            bytes.extend_from_slice(&piece[..count]);
            while let Some(frame) = LinkFrame::first(&bytes).expect("nodes write frames") {
                let mut items = Vec::new();
                if frame.kind == FrameKind::Batch {
                    read_items(&frame.content[2..], &mut *read, &mut items).expect("nodes write items");
                }
                let length = frame.bytes;
                let is_it = items.iter().any(|item| self.fault.at.is_at(item));
                let stopped = self.stopped.load(Ordering::SeqCst) || is_it && !self.fault.is_heard;
                if !stopped && to.write_all(&bytes[..length]).is_err() {
                    return;
                }
                bytes.drain(..length);
                if is_it && !self.stopped.swap(true, Ordering::SeqCst) {
                    // Nobody waits any more if the test has failed.
                    let commits = items.iter().any(|item| HopPhase::Commit.is_at(item));
                    let _ = self.tell.lock().expect("nobody panics").send(self.fault.is_heard || !commits);
                }
            }
        }
        let _ = to.shutdown(Shutdown::Both);
        let _ = from.shutdown(Shutdown::Both);
    }
}

/// Asks for more and more, and says what was done.
const WATCHER: &str = "
!begin.
+!begin <- .all_names(L); .nodes(All); !begin(L, All).
+!begin(L, All) : .member(walker, L) & .member(n2, All) <- !tick(1).
+!begin(_, _) <- .wait(10); !begin.
+!tick(N) <- .send(walker, achieve, tick(N)); .wait(20); !tick(N + 1).
-!tick(N) <- .print(\"gone\"); .wait(20); !tick(N + 1).
+did(N, Count) <- -did(N, Count)[source(_)]; .print(\"did \", N, \" \", Count).
+!kqml_received(_, failure, _, _) <- .print(\"gone\").
";

/// Does what it is asked for and counts it; goes away after the tenth time.
const WALKER: &str = "
count(0).
@tick[atomic] +!tick(N)[source(W)] <- ?count(C); -+count(C + 1); .send(W, tell, did(N, C + 1)); if (C == 9) { !!go }.
+!go <- ?target(T); .move_to(T).
-!go <- .print(\"stayed\").
";

/// Ends it as an operating system does that has no more memory.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start(folder: &Scratch, arguments: &[&str]) -> Process {
    let mut command = whimbrel();
    command.args(arguments).args(["--token", "t", "--code-cache", "off", "--link-timeout", "1s"]);
    command.current_dir(folder.path()).stdout(Stdio::piped()).stderr(Stdio::piped());
    Process(command.spawn().expect("it begins"))
}

fn lines(stream: impl Read + Send + 'static) -> Receiver<String> {
    let (tell, told) = channel();
    std::thread::spawn(move || {
        let lines = BufReader::new(stream).lines().map_while(Result::ok);
        lines.for_each(|line| drop(tell.send(line)));
    });
    told
}

const PATIENCE: Duration = Duration::from_secs(180);

/// Returns the watcher's output, until some time after the loss of the other node, and the log of the wire.
fn said(fault: HopFault) -> (Vec<String>, bool) {
    let walker = |target: &str| format!("target({target}).\n{WALKER}");
    let scratch = Scratch::with(&[
        ("alone.mas2j", "MAS alone { agents: watcher; }"),
        ("both.mas2j", "MAS both { agents: watcher; walker; }"),
        ("watcher.asl", WATCHER),
        ("walker.asl", &walker("n2")),
    ]);
    let elsewhere = Scratch::with(&[("walker.asl", &walker("n1"))]);
    let project = if fault.is_source { "alone.mas2j" } else { "both.mas2j" };
    let mut first = start(&scratch, &["run", project, "--listen", "127.0.0.1:0"]);
    let noted = lines(first.0.stderr.take().expect("piped"));
    let said = lines(first.0.stdout.take().expect("piped"));
    let await_note = |what: &str| loop {
        let line = noted.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("{fault:?}: no {what:?}"));
        if let Some((_, rest)) = line.split_once(what) {
            return rest.to_owned();
        }
    };
    let (address, stopped) = FaultyWire::before(await_note("join at "), fault);
    let file: &[&str] = if fault.is_source { &["walker.asl"] } else { &[] };
    let second = start(&elsewhere, &[&["join", &address], file, &["--name", "n2"]].concat());
    let commits = stopped.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("{fault:?}: it did not come to that"));
    drop(second);
    await_note("n2: the node is lost");
    let mut all: Vec<String> = said.try_iter().collect();
    all.extend((0..150).map(|_| said.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("{fault:?}: nothing more"))));
    (all, commits)
}

fn check(fault: HopFault) {
    let (all, commits) = said(fault);
    let outcome = all.last().map(|line| line.starts_with("[watcher] did"));
    assert_eq!(outcome, Some(fault.lives_on(commits)), "{fault:?}: {all:#?}");
    let done: Vec<(u32, u32)> = all
        .iter()
        .filter_map(|line| {
            let (number, count) = line.strip_prefix("[watcher] did ")?.split_once(' ')?;
            Some((number.parse().ok()?, count.parse().ok()?))
        })
        .collect();
    // What it did last may have been in the batch that its node did not live to write.
    let at_least = if fault.lives_on(commits) { 10 } else { 1 };
    assert!(done.len() >= at_least, "{fault:?}: {all:#?}");
    let grows = done.windows(2).all(|two| two[0].0 < two[1].0 && two[0].1 < two[1].1);
    assert!(grows, "{fault:?}: it did something twice, or forgot: {done:?}");
}

fn check_all(is_source: bool) {
    let faults: Vec<HopFault> = HopPhase::ALL
        .iter()
        .flat_map(|at| [false, true].map(|is_heard| HopFault { at: *at, is_heard, is_source }))
        .collect();
    for some in faults.chunks(4) {
        std::thread::scope(|scope| some.iter().for_each(|fault| drop(scope.spawn(|| check(*fault)))));
    }
}

#[test]
fn hop_survives_killed_source() {
    check_all(true);
}

#[test]
fn hop_survives_killed_destination() {
    check_all(false);
}
