//! Topics and groups of a node: its state behind one lock, and the copies that shards and links remember.

use std::sync::atomic::{AtomicU64, Ordering};

use rustc_hash::FxHashMap;
use whimbrel_acl::Symbol;
use whimbrel_platform::limits::TOPIC_AUDIENCES_MAX;
use whimbrel_platform::topics::{Audience, Topics};

use crate::moving_subscribers::Publishing;
use crate::sync::{Arc, Mutex, locked};

/// Topics and groups of a node; see the module.
#[derive(Default)]
pub(crate) struct Forum {
    pub topics: Mutex<Topics>,
    /// Version as of [`Topics::version`]: changed while the lock is held, read without it.
    pub version: AtomicU64,
    pub publishing: Publishing,
}

/// Cache of the receivers of topics and groups.
#[derive(Default)]
pub(crate) struct Audiences {
    version: u64,
    by_name: FxHashMap<Symbol, Option<Arc<Audience>>>,
}

impl Audiences {
    /// Returns the receivers of messages to this topic or group; `None` if there are none.
    pub fn of(&mut self, name: Symbol, forum: &Forum) -> Option<Arc<Audience>> {
        let version = forum.version.load(Ordering::Acquire);
        if version != self.version || self.by_name.len() >= TOPIC_AUDIENCES_MAX {
            self.by_name.clear();
            self.version = version;
        }
        self.by_name.entry(name).or_insert_with(|| locked(&forum.topics).audience(name)).clone()
    }
}
