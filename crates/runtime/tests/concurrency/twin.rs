//! Handover of shards with a lock and without `unsafe`: the reference for the real one.

use std::sync::{Arc, Mutex};

pub struct LockedDesk<T> {
    shard: Mutex<Option<Box<T>>>,
}

pub struct LockedLease<T> {
    desk: Arc<LockedDesk<T>>,
    shard: Box<T>,
}

impl<T: Send> LockedLease<T> {
    pub fn new(shard: Box<T>) -> Self {
        Self { desk: Arc::new(LockedDesk { shard: Mutex::new(None) }), shard }
    }

    pub fn desk(&self) -> &Arc<LockedDesk<T>> {
        &self.desk
    }

    pub fn lend<R>(self, turn: impl FnOnce() -> R) -> (R, Option<Self>) {
        let Self { desk, shard } = self;
        *desk.shard.lock().unwrap() = Some(shard);
        let result = turn();
        let shard = desk.shard.lock().unwrap().take();
        (result, shard.map(|shard| Self { desk, shard }))
    }

    pub fn release(self) -> Box<T> {
        self.shard
    }
}

impl<T> std::ops::Deref for LockedLease<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.shard
    }
}

impl<T> std::ops::DerefMut for LockedLease<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.shard
    }
}

impl<T: Send> LockedDesk<T> {
    pub fn seize(&self) -> Option<Box<T>> {
        self.shard.lock().unwrap().take()
    }
}
