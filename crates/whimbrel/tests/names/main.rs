//! Names of agents of another node, which come and go there: a node that only hears of them keeps none. Alone in its
//! process, whose memory is measured.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

use whimbrel_acl::Symbol;
use whimbrel_platform::EndReason;
use whimbrel_platform::ams::AgentKind;
use whimbrel_platform::limits::{LINK_LAST_WORDS_AGENTS_MAX, LINK_NAME_BYTES_MAX};
use whimbrel_platform::link::{LinkItem, News};
use whimbrel_platform::route::NodeId;
use whimbrel_runtime::Platform;
use whimbrel_testkit::LinkPair;

const OTHER: NodeId = NodeId(1);
/// Agents that live at a time.
const TOGETHER: u64 = 4_096;
/// Bytes of a name: as many as one may have, nearly.
const NAME_BYTES: usize = 240;
/// Limit of the growth of memory after the beginning. The number of agents that ended a moment ago depends on the
/// machine's speed: it may be low at first, and as high as possible in the end.
const GROWTH_BYTES_MAX: u64 = 512 * LINK_LAST_WORDS_AGENTS_MAX as u64;
/// Numbers that names may have had in all: those that there may be at a time, with some to spare.
const NUMBERS_MAX: usize = 2 * (LINK_LAST_WORDS_AGENTS_MAX + TOGETHER as usize);

/// A node, and its link to another one that is played.
struct NodeWithPeer {
    platform: Platform,
    pair: LinkPair,
}

impl NodeWithPeer {
    fn new() -> Self {
        Self { platform: Platform::builder().workers(1).build(), pair: LinkPair::new(1) }
    }

    /// The other node says this, over the link.
    fn hear(&mut self, news: impl Iterator<Item = News>) {
        let mut items: Vec<LinkItem> = news.map(|news| LinkItem::News(Box::new(news))).collect();
        let mut due = items.len();
        self.pair.ends[0].link.offer(&mut items);
        while due > 0 {
            self.pair.run_for(1);
            let [speaker, hearer] = &mut self.pair.ends;
            assert!(speaker.errors.is_empty() && hearer.errors.is_empty(), "{:?} {:?}", speaker.errors, hearer.errors);
            due -= hearer.arrived.len();
            for item in hearer.arrived.drain(..) {
                let LinkItem::News(news) = item else { panic!("nothing else was said") };
                self.platform.station().hear(OTHER, *news);
            }
        }
    }

    fn known(&self) -> usize {
        let services = self.platform.services();
        services.directory().unwrap().with_ams(|ams| ams.agents_elsewhere().len()).unwrap()
    }

    /// So many agents begin on the other node, and end.
    fn come_and_go(&mut self, first: u64, count: u64) {
        let name = |number: u64| format!("{number:a>width$}", width = NAME_BYTES).as_str().into();
        let born = (first..first + count).map(|number| (name(number), AgentKind::Native)).collect();
        self.hear(std::iter::once(News::Agents(born)));
        assert_eq!(self.known(), count as usize);
        self.hear((first..first + count).map(|number| News::AgentEnded(name(number), EndReason::Killed)));
        assert_eq!(self.known(), 0);
    }
}

/// Bytes of memory that this process takes, where the system tells.
fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? * 1024)
}

/// Checks that agents that come and go leave no names behind.
fn names_leave_nothing(count: u64) {
    let mut node = NodeWithPeer::new();
    let (symbols, numbers, mut begun) = (Symbol::bytes_made_here(), Symbol::count(), None);
    // Who ended a moment ago is remembered, for his last words may come.
    let settled = 2 * LINK_LAST_WORDS_AGENTS_MAX as u64;
    assert!(settled < count / 2, "most of them come after the beginning");
    for first in (0..count).step_by(TOGETHER as usize) {
        node.come_and_go(first, TOGETHER.min(count - first));
        if begun.is_none() && first > settled {
            begun = Some(resident_bytes());
        }
    }
    let (bytes, numbers) = (begun.expect("there was a beginning"), Symbol::count() - numbers);
    println!("{count} names had {numbers} numbers; bytes at first and in the end: {bytes:?}, {:?}", resident_bytes());
    assert_eq!(Symbol::bytes_made_here(), symbols, "nobody spoke of them");
    assert!(numbers < NUMBERS_MAX, "{numbers}: they are given again");
    if let (Some(before), Some(after)) = (bytes, resident_bytes()) {
        assert!(after < before + GROWTH_BYTES_MAX, "{before} bytes grew to {after}");
    }
    assert_eq!((node.pair.ends[1].began, node.pair.ends[1].resumed), (1, 0), "the link is the first one");
}

#[test]
fn names_told_over_links_leave_nothing() {
    names_leave_nothing(300_000);
}

/// More than twice the bytes of names that a peer may make this node keep.
#[test]
#[ignore = "takes minutes"]
fn ten_million_names_leave_nothing() {
    const NAMES: u64 = 10_000_000;
    const { assert!(NAMES * NAME_BYTES as u64 > 2 * LINK_NAME_BYTES_MAX) };
    names_leave_nothing(NAMES);
}
