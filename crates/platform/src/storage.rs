//! Storage of WebAssembly agents on a node, beside their memory: values by keys. They stay there when the agent moves
//! on, and are there when it returns.
//!
//! [`NodeStorage`] is all the storage of a node, in memory, without I/O. Code with a disk (a [`StorageKeeper`]) takes
//! the [changes](NodeStorage::take_changed) and writes them, and restores them when the node starts again.
//!
//! Keys and values count, and so does an overhead for each key and for each agent with storage.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use crate::limits::{
    STORAGE_BYTES_MAX, STORAGE_ENTRIES_MAX, STORAGE_ENTRY_BYTES, STORAGE_HOLDER_BYTES, STORAGE_KEY_BYTES_MAX,
    STORAGE_VALUE_BYTES_MAX,
};

/// Holder of storage. An agent and its clones have one together, wherever they are from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Holder {
    /// Owner of the agent; empty if its node owns it.
    pub owner: String,
    /// Node where the owner had it made; empty on a platform of one node.
    pub node: String,
    /// Name of the agent; for clones, the first original.
    pub agent: String,
}

/// Room for storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Bytes of all keys and values of the agent and its clones, and [`STORAGE_ENTRY_BYTES`] for each key.
    pub bytes: u64,
    /// Bytes of all agents of its owner, and [`STORAGE_HOLDER_BYTES`] for each agent.
    pub owner_bytes: u64,
}

/// Reason why a value is not stored.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StorageError {
    /// Key that is empty or too long.
    #[error("invalid storage key of {0} bytes: expected 1 to {STORAGE_KEY_BYTES_MAX}")]
    Key(usize),
    /// Value that is too long.
    #[error("storage value too long: {0} bytes, the limit is {STORAGE_VALUE_BYTES_MAX}")]
    Value(usize),
    /// Too many keys.
    #[error("storage full: the limit is {STORAGE_ENTRIES_MAX} keys")]
    Entries,
    /// Too many bytes of the agent.
    #[error("its storage would have {wanted} bytes, the limit is {max} (quota storage_bytes)")]
    Bytes {
        /// Bytes that the agent would store.
        wanted: u64,
        /// Bytes that the agent may store.
        max: u64,
    },
    /// Too many bytes of its owner's agents.
    #[error(
        "the storage of its owner's agents would have {wanted} bytes, the limit is {max} (quota owner_storage_bytes)"
    )]
    OwnerBytes {
        /// Bytes that the owner's agents would store.
        wanted: u64,
        /// Bytes that the owner's agents may store.
        max: u64,
    },
    /// Too many bytes of all agents.
    #[error("the storage of all agents here would exceed {STORAGE_BYTES_MAX} bytes")]
    Full,
}

/// Storage of all agents of a node; see the module. Call [`NodeStorage::set_keeper`] first, if there is a disk.
/// [`NodeStorage::put`] and [`NodeStorage::delete`] change it, and [`NodeStorage::write_changed`] makes the changes
/// outlive the node.
#[derive(Default)]
pub struct NodeStorage {
    all: Mutex<All>,
    keeper: OnceLock<Weak<dyn StorageKeeper>>,
}

/// Keeper: writes storage to where it outlives the node.
pub trait StorageKeeper: Send + Sync {
    /// Writes all changes. They outlive the process when this returns, unless they could not be written, which the
    /// keeper tells the operator.
    fn write_changed(&self);
}

#[derive(Default)]
struct All {
    holders: BTreeMap<Holder, HolderEntries>,
    /// Bytes by owner and node.
    owners: BTreeMap<(String, String), u64>,
    /// Bytes of all storage.
    bytes: u64,
    changed: BTreeSet<Holder>,
}

#[derive(Default)]
struct HolderEntries {
    entries: Entries,
    /// Bytes of keys and values, and the overhead of keys.
    bytes: u64,
}

/// Values by keys, shared so that they can be written without delaying others.
type Entries = BTreeMap<Arc<str>, Arc<[u8]>>;

impl NodeStorage {
    fn all(&self) -> MutexGuard<'_, All> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the value of this key; `None` if there is none.
    pub fn value(&self, holder: &Holder, key: &str) -> Option<Arc<[u8]>> {
        self.all().holders.get(holder)?.entries.get(key).cloned()
    }

    /// Stores a value under a key, in the place of the one before.
    ///
    /// # Errors
    /// A limit is exceeded. Nothing changed then.
    pub fn put(&self, holder: &Holder, key: &str, value: &[u8], room: Room) -> Result<(), StorageError> {
        check_entry(key, value)?;
        self.all().put(holder, key, value, room, STORAGE_BYTES_MAX)
    }

    /// Deletes a value. Returns false if there was none.
    pub fn delete(&self, holder: &Holder, key: &str) -> bool {
        self.all().delete(holder, key)
    }

    /// Returns `count` keys at most that begin with `prefix` and come after `after`, in their order (by bytes).
    pub fn keys(&self, holder: &Holder, prefix: &str, after: &str, count: usize) -> Vec<String> {
        let all = self.all();
        let Some(held) = all.holders.get(holder) else { return Vec::new() };
        let first = if after < prefix { Bound::Included(prefix) } else { Bound::Excluded(after) };
        let from = held.entries.range::<str, _>((first, Bound::Unbounded));
        from.map(|(key, _)| key)
            .take_while(|key| key.starts_with(prefix))
            .take(count)
            .map(|key| key.to_string())
            .collect()
    }

    /// Returns the bytes of all storage, overhead included.
    pub fn bytes(&self) -> u64 {
        self.all().bytes
    }

    /// Returns the bytes stored for this holder, and for all agents of its owner.
    pub fn kept_for(&self, holder: &Holder) -> (u64, u64) {
        let all = self.all();
        let own = all.holders.get(holder).map_or(0, |held| held.bytes);
        let owner = all.owners.get(&(holder.owner.clone(), holder.node.clone())).copied().unwrap_or_default();
        (own, owner)
    }

    /// Sets the keeper that writes changes. Returns false if there is one already.
    pub fn set_keeper(&self, keeper: Weak<dyn StorageKeeper>) -> bool {
        self.keeper.set(keeper).is_ok()
    }

    /// Has changes written, if there is a keeper. Call it before anything is written that depends on them.
    pub fn write_changed(&self) {
        if let Some(keeper) = self.keeper.get().filter(|_| !self.all().changed.is_empty()).and_then(Weak::upgrade) {
            keeper.write_changed();
        }
    }

    /// Takes the holders whose storage changed since the last call: [`NodeStorage::written`] has the bytes to write for
    /// each.
    pub fn take_changed(&self) -> BTreeSet<Holder> {
        std::mem::take(&mut self.all().changed)
    }

    /// Returns the bytes to write for a holder; `None` if nothing is stored for it any more. Others are not delayed
    /// meanwhile.
    pub fn written(&self, holder: &Holder) -> Option<Vec<u8>> {
        let (entries, bytes) = {
            let all = self.all();
            let held = all.holders.get(holder)?;
            (held.entries.clone(), held.bytes)
        };
        let mut out = Vec::with_capacity(bytes as usize + size_of::<Holder>());
        [&holder.owner, &holder.node, &holder.agent].into_iter().for_each(|text| put_part(text.as_bytes(), &mut out));
        for (key, value) in &entries {
            put_part(key.as_bytes(), &mut out);
            put_part(value, &mut out);
        }
        Some(out)
    }

    /// Notes that a holder's storage could not be written: it is changed again.
    pub fn note_unwritten(&self, holder: Holder) {
        self.all().changed.insert(holder);
    }

    /// Restores a holder's storage from its bytes. It is restored whole, however small the quotas are by now.
    ///
    /// # Errors
    /// The bytes are malformed, or too many.
    pub fn restore(&self, bytes: &[u8]) -> Result<Holder, RestoreError> {
        let mut left = bytes;
        let mut next = || text(&mut left);
        let holder = Holder { owner: next()?, node: next()?, agent: next()? };
        let mut all = self.all();
        if all.holders.contains_key(&holder) {
            return Err(RestoreError::Twice);
        }
        while !left.is_empty() {
            let (key, value) = (text(&mut left)?, part(&mut left)?);
            let room = Room { bytes: u64::MAX, owner_bytes: u64::MAX };
            let put = check_entry(&key, value).and_then(|()| all.put(&holder, &key, value, room, u64::MAX));
            if let Err(error) = put {
                all.forget(&holder);
                return Err(error.into());
            }
        }
        all.changed.remove(&holder);
        Ok(holder)
    }
}

/// Reason why storage is not restored.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RestoreError {
    /// Malformed bytes.
    #[error("the bytes are nothing that an agent kept")]
    Malformed,
    /// Holder that was restored already.
    #[error("the same agent's is there twice")]
    Twice,
    /// Key or value that could not have been stored.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Appends a part of the written form: a text or value, with its length before it in four bytes.
fn put_part(part: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&(part.len() as u32).to_le_bytes());
    out.extend_from_slice(part);
}

fn part<'a>(left: &mut &'a [u8]) -> Result<&'a [u8], RestoreError> {
    let (length, rest) = left.split_first_chunk().ok_or(RestoreError::Malformed)?;
    let (part, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize).ok_or(RestoreError::Malformed)?;
    *left = rest;
    Ok(part)
}

fn text(left: &mut &[u8]) -> Result<String, RestoreError> {
    String::from_utf8(part(left)?.to_vec()).map_err(|_| RestoreError::Malformed)
}

fn check_entry(key: &str, value: &[u8]) -> Result<(), StorageError> {
    if !(1..=STORAGE_KEY_BYTES_MAX).contains(&key.len()) {
        return Err(StorageError::Key(key.len()));
    }
    if value.len() > STORAGE_VALUE_BYTES_MAX { Err(StorageError::Value(value.len())) } else { Ok(()) }
}

fn account(holder: &Holder) -> (String, String) {
    (holder.owner.clone(), holder.node.clone())
}

impl All {
    fn put(&mut self, holder: &Holder, key: &str, value: &[u8], room: Room, all_max: u64) -> Result<(), StorageError> {
        let held = self.holders.get(holder);
        let old = held.and_then(|held| held.entries.get(key)).map(|old| counted(key, old));
        if old.is_none() && held.is_some_and(|held| held.entries.len() >= STORAGE_ENTRIES_MAX) {
            return Err(StorageError::Entries);
        }
        let (new, old) = (counted(key, value), old.unwrap_or_default());
        let first = if held.is_none() { STORAGE_HOLDER_BYTES } else { 0 };
        let with = |bytes: u64| (bytes + new).saturating_sub(old);
        let mine = with(held.map_or(0, |held| held.bytes));
        let owners = with(self.owners.get(&account(holder)).copied().unwrap_or_default() + first);
        let all = with(self.bytes + first);
        // Shrinking is always possible.
        let grows = new > old;
        if grows && mine > room.bytes {
            return Err(StorageError::Bytes { wanted: mine, max: room.bytes });
        }
        if grows && owners > room.owner_bytes {
            return Err(StorageError::OwnerBytes { wanted: owners, max: room.owner_bytes });
        }
        if grows && all > all_max {
            return Err(StorageError::Full);
        }
        self.bytes = all;
        self.owners.insert(account(holder), owners);
        let held = self.holders.entry(holder.clone()).or_default();
        held.bytes = mine;
        held.entries.insert(key.into(), value.into());
        self.changed.insert(holder.clone());
        Ok(())
    }

    fn delete(&mut self, holder: &Holder, key: &str) -> bool {
        let Some(held) = self.holders.get_mut(holder) else { return false };
        let Some(value) = held.entries.remove(key) else { return false };
        let mut less = counted(key, &value);
        held.bytes = held.bytes.saturating_sub(less);
        if held.entries.is_empty() {
            self.holders.remove(holder);
            less += STORAGE_HOLDER_BYTES;
        }
        self.bytes = self.bytes.saturating_sub(less);
        if let Entry::Occupied(mut owner) = self.owners.entry(account(holder)) {
            *owner.get_mut() = owner.get().saturating_sub(less);
            if *owner.get() == 0 {
                owner.remove();
            }
        }
        self.changed.insert(holder.clone());
        true
    }

    fn forget(&mut self, holder: &Holder) {
        let keys: Vec<Arc<str>> =
            self.holders.get(holder).into_iter().flat_map(|held| held.entries.keys().cloned()).collect();
        for key in keys {
            self.delete(holder, &key);
        }
        self.changed.remove(holder);
    }
}

/// Returns the bytes that an entry counts.
fn counted(key: &str, value: &[u8]) -> u64 {
    (key.len() + value.len()) as u64 + STORAGE_ENTRY_BYTES
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ROOM: Room = Room { bytes: 1_000, owner_bytes: 2 * STORAGE_HOLDER_BYTES + 1_500 };

    fn holder(agent: &str) -> Holder {
        Holder { owner: "boss".to_owned(), node: "n1".to_owned(), agent: agent.to_owned() }
    }

    #[test]
    fn stored_keys_are_listed_in_order() {
        let (storage, amy) = (NodeStorage::default(), holder("amy"));
        for key in ["b/2", "a", "b/1", "b", "c"] {
            storage.put(&amy, key, key.as_bytes(), ROOM).unwrap();
        }
        assert_eq!(storage.value(&amy, "b").as_deref(), Some(b"b".as_slice()));
        assert_eq!(storage.keys(&amy, "", "", 9), ["a", "b", "b/1", "b/2", "c"]);
        assert_eq!(storage.keys(&amy, "b", "", 9), ["b", "b/1", "b/2"]);
        assert_eq!(storage.keys(&amy, "b", "b", 1), ["b/1"]);
        assert_eq!(storage.keys(&amy, "b", "b/2", 9), [""; 0]);
        assert!(storage.delete(&amy, "b") && !storage.delete(&amy, "b"));
        assert_eq!((storage.value(&amy, "b"), storage.value(&holder("bob"), "a")), (None, None));
    }

    #[test]
    fn excess_value_changes_nothing() {
        let (storage, amy, bob) = (NodeStorage::default(), holder("amy"), holder("bob"));
        storage.put(&amy, "k", &[0; 935], ROOM).unwrap();
        assert_eq!(storage.put(&amy, "l", &[0; 9], ROOM), Err(StorageError::Bytes { wanted: 1_074, max: 1_000 }));
        storage.put(&bob, "k", &[0; 435], ROOM).unwrap();
        let max = ROOM.owner_bytes;
        assert_eq!(storage.put(&bob, "k", &[0; 436], ROOM), Err(StorageError::OwnerBytes { wanted: max + 1, max }));
        storage.put(&amy, "k", &[0; 35], ROOM).unwrap();
        storage.put(&bob, "k", &[0; 935], ROOM).unwrap();
        assert_eq!(storage.bytes(), 2 * STORAGE_HOLDER_BYTES + 1_100);
        let small = Room { bytes: 5, owner_bytes: 5 };
        storage.put(&bob, "k", &[0; 98], small).unwrap();
        assert_eq!(storage.put(&bob, "", &[], ROOM), Err(StorageError::Key(0)));
        let long = "k".repeat(STORAGE_KEY_BYTES_MAX + 1);
        assert_eq!(storage.put(&bob, &long, &[], ROOM), Err(StorageError::Key(long.len())));
        let large = vec![0; STORAGE_VALUE_BYTES_MAX + 1];
        assert_eq!(storage.put(&bob, "k", &large, ROOM), Err(StorageError::Value(large.len())));
        assert_eq!(storage.value(&bob, "k").as_deref(), Some([0; 98].as_slice()));
    }

    #[test]
    fn number_of_keys_is_limited() {
        let (storage, amy) = (NodeStorage::default(), holder("amy"));
        let room = Room { bytes: u64::MAX, owner_bytes: u64::MAX };
        for number in 0..STORAGE_ENTRIES_MAX {
            storage.put(&amy, &number.to_string(), &[], room).unwrap();
        }
        assert_eq!(storage.put(&amy, "x", &[], room), Err(StorageError::Entries));
        storage.put(&amy, "0", &[1], room).unwrap();
    }

    #[test]
    fn changes_are_taken_once_and_restored() {
        let (storage, amy, bob) = (NodeStorage::default(), holder("amy"), holder("bob"));
        storage.put(&amy, "k", b"v", ROOM).unwrap();
        storage.put(&bob, "k", b"v", ROOM).unwrap();
        let changed = storage.take_changed();
        assert_eq!(changed.len(), 2);
        assert!(storage.take_changed().is_empty());
        let again = NodeStorage::default();
        for holder in &changed {
            assert_eq!(again.restore(&storage.written(holder).unwrap()).as_ref(), Ok(holder));
        }
        assert_eq!((again.value(&amy, "k").as_deref(), again.bytes()), (Some(b"v".as_slice()), storage.bytes()));
        assert!(again.take_changed().is_empty());
        assert_eq!(again.restore(&storage.written(&amy).unwrap()), Err(RestoreError::Twice));
        assert!(storage.delete(&amy, "k"));
        assert_eq!(storage.take_changed(), [amy.clone()].into());
        assert_eq!(storage.written(&amy), None);
        storage.note_unwritten(amy.clone());
        assert_eq!(storage.take_changed(), [amy].into());
        assert_eq!(storage.bytes(), STORAGE_HOLDER_BYTES + STORAGE_ENTRY_BYTES + 2);
    }

    #[test]
    fn each_holder_counts_overhead() {
        let (storage, room) =
            (NodeStorage::default(), Room { bytes: 1 << 20, owner_bytes: 100 * STORAGE_HOLDER_BYTES });
        let kept = (0..1_000).take_while(|number| storage.put(&holder(&number.to_string()), "k", &[], room).is_ok());
        assert_eq!(kept.count(), 98);
        let amy = Holder { owner: "queen".to_owned(), ..holder("amy") };
        let kept = (0..STORAGE_ENTRIES_MAX).take_while(|n| storage.put(&amy, &n.to_string(), &[], ROOM).is_ok());
        assert_eq!(kept.count(), 15, "64 bytes each and their keys");
        (0..1_000).for_each(|number| assert_eq!(storage.delete(&holder(&number.to_string()), "k"), number < 98));
        (0..STORAGE_ENTRIES_MAX).for_each(|n| assert_eq!(storage.delete(&amy, &n.to_string()), n < 15));
        assert_eq!((storage.bytes(), storage.all().owners.len()), (0, 0));
    }

    #[test]
    fn keeper_is_called_after_changes() {
        struct WriteCount(std::sync::atomic::AtomicU32);
        impl StorageKeeper for WriteCount {
            fn write_changed(&self) {
                self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            }
        }
        let (storage, keeper) = (NodeStorage::default(), Arc::new(WriteCount(0.into())));
        let weak: Weak<dyn StorageKeeper> = Arc::downgrade(&keeper) as _;
        assert!(storage.set_keeper(weak.clone()) && !storage.set_keeper(weak));
        storage.write_changed();
        storage.put(&holder("amy"), "k", b"v", ROOM).unwrap();
        storage.write_changed();
        assert_eq!(keeper.0.load(std::sync::atomic::Ordering::Relaxed), 1);
    }

    proptest! {
        #[test]
        fn hostile_bytes_leave_nothing_behind(bytes in proptest::collection::vec(0..4u8, 0..60)) {
            let storage = NodeStorage::default();
            match storage.restore(&bytes) {
                Ok(holder) => {
                    let keys = storage.keys(&holder, "", "", usize::MAX);
                    let kept: u64 = keys.iter().map(|key| counted(key, &storage.value(&holder, key).unwrap())).sum();
                    prop_assert_eq!(storage.bytes(), if kept > 0 { kept + STORAGE_HOLDER_BYTES } else { 0 });
                }
                Err(_) => prop_assert_eq!(storage.bytes(), 0),
            }
        }
    }
}
