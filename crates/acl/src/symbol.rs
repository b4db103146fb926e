//! Table of names: every atom, functor and agent name of a process, each stored once. Most stay as long as the process
//! ([`Symbol`]); the others are counted and forgotten ([`Name`](crate::Name)).

mod counted;

use std::cell::Cell;
use std::fmt;
use std::hash::BuildHasher;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{LazyLock, Mutex, MutexGuard, OnceLock, PoisonError};

use counted::CountedNames;
pub(crate) use counted::{NameShare, count};
use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Interned name that is copied freely. Equal names have equal symbols. The order of symbols is not that of their
/// texts (use [`Symbol::as_str`] to sort by text). A symbol lives as long as its process, as atoms do in Erlang.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Symbol(u32);

const SHARDS: usize = 32;

/// Bytes of text a shard takes from the system at once.
const CHUNK_BYTES: usize = 16 * 1024;

/// Bytes a name takes beyond its text, roughly.
const NAME_BYTES: usize = 40;

/// Bytes of all names and addresses that stay as long as the process, roughly.
static KEPT: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static MADE: Cell<u64> = const { Cell::new(0) };
    /// Value of `MADE` that this thread may not pass now.
    static MADE_MAX: Cell<u64> = const { Cell::new(u64::MAX) };
    static IS_REFUSED: Cell<bool> = const { Cell::new(false) };
}

/// Counts bytes that this thread is about to add to the permanent names of the process. Returns false, and counts
/// nothing, if the thread may not add so many ([`NameAllowance`]); then the caller must add nothing.
pub(crate) fn may_make(bytes: usize) -> bool {
    let made = MADE.get().saturating_add(bytes as u64);
    if made > MADE_MAX.get() {
        IS_REFUSED.set(true);
        return false;
    }
    MADE.set(made);
    KEPT.fetch_add(bytes as u64, Ordering::Relaxed);
    true
}

/// Bound on the names that this thread adds to the process while the value exists. For readers of bytes from
/// strangers.
///
/// At the bound, [`Symbol::new`] returns the empty name for a text that is no name yet. So the caller asks
/// [`NameAllowance::is_refused`] after each piece that it reads, and discards the piece if that is true.
#[derive(Debug)]
#[must_use]
pub struct NameAllowance {
    made_max_before: u64,
    was_refused: bool,
    /// An allowance is of the thread that took it.
    thread: PhantomData<*const ()>,
}

impl NameAllowance {
    /// Allows this thread this number of bytes of new names, or fewer if another allowance of the thread ends before.
    pub fn new(bytes: u64) -> Self {
        // The names that every process has are no stranger's.
        LazyLock::force(&NAMES);
        let was_refused = IS_REFUSED.replace(false);
        let made_max_before = MADE_MAX.get();
        MADE_MAX.set(made_max_before.min(MADE.get().saturating_add(bytes)));
        Self { made_max_before, was_refused, thread: PhantomData }
    }

    /// Returns true if a name was refused to this thread since its newest allowance began.
    pub fn is_refused() -> bool {
        IS_REFUSED.get()
    }
}

impl Drop for NameAllowance {
    fn drop(&mut self) {
        MADE_MAX.set(self.made_max_before);
        IS_REFUSED.set(self.was_refused);
    }
}

struct NameTable {
    /// Texts by number; a counted name's number has none here.
    texts: boxcar::Vec<OnceLock<&'static str>>,
    shards: [Mutex<NameShard>; SHARDS],
}

/// Names whose hash belongs to one shard.
#[derive(Default)]
struct NameShard {
    ids: HashTable<SymbolEntry>,
    counted: CountedNames,
    /// Free room for texts.
    free: &'static mut [u8],
}

/// A name in a shard's table, with its hash: neither looking it up nor growing the table reads other names' texts.
struct SymbolEntry {
    hash: u32,
    id: u32,
}

static NAMES: LazyLock<NameTable> = LazyLock::new(|| {
    let names = NameTable { texts: boxcar::Vec::new(), shards: std::array::from_fn(|_| Mutex::default()) };
    for (expected, text) in sym::PREDEFINED.iter().enumerate() {
        let id = names.intern(text);
        debug_assert_eq!(id as usize, expected, "duplicate predefined symbol {text}");
    }
    names
});

impl NameTable {
    fn text(&self, id: u32) -> &'static str {
        self.texts.get(id as usize).and_then(OnceLock::get).copied().unwrap_or("")
    }

    /// Returns the hash of a name, and the shard that has it if any has.
    fn shard(&self, text: &str) -> (u32, MutexGuard<'_, NameShard>) {
        let full = FxBuildHasher.hash_one(text);
        let hash = (full ^ (full >> 32)) as u32;
        (hash, self.shard_of(hash))
    }

    #[allow(clippy::indexing_slicing, reason = "five bits are below SHARDS")]
    fn shard_of(&self, hash: u32) -> MutexGuard<'_, NameShard> {
        self.shards[(hash >> 27) as usize].lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, shard: &NameShard, hash: u32, text: &str) -> Option<u32> {
        let same = |entry: &SymbolEntry| entry.hash == hash && self.text(entry.id) == text;
        shard.ids.find(spread(hash), same).map(|entry| entry.id)
    }

    fn intern(&self, text: &str) -> u32 {
        let (hash, mut shard) = self.shard(text);
        if let Some(id) = self.find(&shard, hash, text) {
            return id;
        }
        if !may_make(text.len() + NAME_BYTES) {
            return sym::EMPTY.0;
        }
        let id = shard.counted.keep(hash, text).unwrap_or_else(|| self.free_id(&mut shard));
        if let Some(place) = self.texts.get(id as usize) {
            let _ = place.set(shard.keep(text));
        }
        shard.ids.insert_unique(spread(hash), SymbolEntry { hash, id }, |entry| spread(entry.hash));
        id
    }

    /// Returns a number that no name has.
    fn free_id(&self, shard: &mut NameShard) -> u32 {
        shard.counted.free_id().unwrap_or_else(|| self.texts.push(OnceLock::new()) as u32)
    }
}

impl NameShard {
    /// Copies a text for as long as the process lives.
    fn keep(&mut self, text: &str) -> &'static str {
        if text.len() > CHUNK_BYTES / 8 {
            return Box::leak(text.into());
        }
        if self.free.len() < text.len() {
            self.free = Box::leak(vec![0; CHUNK_BYTES].into_boxed_slice());
        }
        let (kept, free) = std::mem::take(&mut self.free).split_at_mut(text.len());
        self.free = free;
        kept.copy_from_slice(text.as_bytes());
        std::str::from_utf8(kept).unwrap_or_default()
    }
}

/// Spreads a hash over 64 bits: a table takes its position from the low ones, its tag from the high ones.
fn spread(hash: u32) -> u64 {
    u64::from(hash).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

impl Symbol {
    /// Returns the symbol of `text`, made if it is new.
    pub fn new(text: &str) -> Self {
        Self(NAMES.intern(text))
    }

    /// Returns the symbol of `text`, if there is one already. Look-ups for strangers use this: it makes no new name.
    /// A [counted](crate::Name) name becomes permanent, unless a [`NameAllowance`] forbids it: then there is no
    /// symbol.
    pub fn known(text: &str) -> Option<Self> {
        let (hash, shard) = NAMES.shard(text);
        if let Some(id) = NAMES.find(&shard, hash, text) {
            return Some(Self(id));
        }
        let is_counted = shard.counted.contains(hash, text);
        drop(shard);
        is_counted.then(|| Self::new(text)).filter(|symbol| *symbol != sym::EMPTY)
    }

    /// Returns the text of the name.
    pub fn as_str(self) -> &'static str {
        NAMES.text(self.0)
    }

    /// Returns a dense number, below the count of numbers in this process: fit for indexing tables. Not stable across
    /// processes.
    pub const fn index(self) -> u32 {
        self.0
    }

    /// Returns the symbol of this number, which is no counted name's.
    pub(crate) const fn numbered(index: u32) -> Self {
        Self(index)
    }

    /// Returns the bytes, roughly, that this thread has added to the permanent memory of the process: names, and
    /// addresses of agents. A reader of strangers' bytes compares it before and after, to know their cost.
    pub fn bytes_made_here() -> u64 {
        MADE.get()
    }

    /// Bytes, roughly, of all that stays as long as the process: names, and addresses of agents.
    pub fn bytes_kept() -> u64 {
        KEPT.load(Ordering::Relaxed)
    }

    /// Returns the count of numbers that this process has given to names. Numbers of counted names that ended are
    /// reused.
    pub fn count() -> usize {
        NAMES.texts.count()
    }
}

impl fmt::Display for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.as_str())
    }
}

impl From<&str> for Symbol {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl Serialize for Symbol {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Symbol {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl serde::de::Visitor<'_> for Visitor {
            type Value = Symbol;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a name")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Symbol, E> {
                Ok(Symbol::new(text))
            }
        }
        deserializer.deserialize_str(Visitor)
    }
}

/// Symbols known at compile time.
pub mod sym {
    use super::Symbol;

    macro_rules! predefined {
        ($($name:ident = $text:literal),* $(,)?) => {
            #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
            #[repr(u32)]
            enum Id { $($name),* }
            $(#[doc = concat!("`", $text, "`")] pub const $name: Symbol = Symbol(Id::$name as u32);)*
            pub(super) const PREDEFINED: &[&str] = &[$($text),*];
        };
    }

    predefined! {
        // The performatives of FIPA00037 come first, in its order: their symbols are their numbers.
        ACCEPT_PROPOSAL = "accept-proposal", AGREE = "agree", CANCEL = "cancel", CFP = "cfp", CONFIRM = "confirm",
        DISCONFIRM = "disconfirm", FAILURE = "failure", INFORM = "inform", INFORM_IF = "inform-if",
        INFORM_REF = "inform-ref", NOT_UNDERSTOOD = "not-understood", PROPAGATE = "propagate", PROPOSE = "propose",
        PROXY = "proxy", QUERY_IF = "query-if", QUERY_REF = "query-ref", REFUSE = "refuse",
        REJECT_PROPOSAL = "reject-proposal", REQUEST = "request", REQUEST_WHEN = "request-when",
        REQUEST_WHENEVER = "request-whenever", SUBSCRIBE = "subscribe",
        EMPTY = "", DEFAULT = "default", SELF = "self", SOURCE = "source", PERCEPT = "percept", SIGNAL = "signal",
        AMS = "ams", DF = "df", TRUE = "true", FALSE = "false", ATOMIC = "atomic", ANY = "_",
        // Operators: the functors of code written as data. No user functor can have these names.
        AND = "&", OR = "|", NOT = "not", EQ = "==", NE = "\\==", LT = "<", LE = "<=", GT = ">", GE = ">=",
        UNIFY = "=", UNIV = "=..", ADD = "+", SUB = "-", MUL = "*", DIV = "/", INTDIV = "div", MOD = "mod", POW = "**",
        TELL = "tell", UNTELL = "untell", ACHIEVE = "achieve", UNACHIEVE = "unachieve", ASK_ONE = "askOne",
        ASK_ALL = "askAll", ASK_HOW = "askHow", TELL_HOW = "tellHow", UNTELL_HOW = "untellHow",
        KQML_RECEIVED = "kqml_received", ERROR = "error", ERROR_MSG = "error_msg", CODE = "code",
        CODE_SRC = "code_src", CODE_LINE = "code_line", STATE = "state", REASON = "reason", TIMEOUT = "timeout",
        HARD_DEADLINE = "hard_deadline", PERCEPTS = "percepts", JAG_SLEEPING = "jag_sleeping",
        JAG_AWAKING = "jag_awaking", FAILURE_REASON = "failure_reason", ENVIRONMENT = "whimbrel-environment",
        // Code as data: functors that no program can write.
        CODE_PLAN = "$plan", CODE_RULE = "$rule", CODE_TRIGGER = "$trigger", CODE_BODY = "$body", CODE_STEP = "$step",
        CODE_VAR = "$var", NO_LABEL = "nolabel", UNDEFINED = "undefined",
        // Requests between plans of the library.
        WHIMBREL = "whimbrel", KQML_BELIEVE = "kqml_believe", KQML_PURSUE = "kqml_pursue",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lookup_makes_no_symbol() {
        // The first name of a process makes the predefined ones.
        let made = Symbol::new("somebody says this");
        let before = Symbol::bytes_made_here();
        assert_eq!(Symbol::known("nobody ever said this"), None);
        assert_eq!(Symbol::bytes_made_here(), before);
        assert_eq!(Symbol::known("somebody says this"), Some(made));
        assert_eq!(Symbol::known("self"), Some(sym::SELF));
    }

    #[test]
    fn allowance_refuses_new_names_only() {
        let known = Symbol::new("said before any allowance");
        let text = |number: usize| format!("said within an allowance {number}");
        {
            let _allowance = NameAllowance::new((2 * (text(0).len() + NAME_BYTES)) as u64);
            assert_eq!([0, 1].map(|number| Symbol::new(&text(number)).to_string()), [0, 1].map(text));
            assert!(!NameAllowance::is_refused());
            assert_eq!(Symbol::new(&text(2)), sym::EMPTY);
            assert!(NameAllowance::is_refused());
            assert_eq!((Symbol::known(&text(2)), Symbol::new("said before any allowance")), (None, known));
            {
                let _inner = NameAllowance::new(u64::MAX);
                assert!(!NameAllowance::is_refused());
                let counted = crate::Name::new(&text(4));
                assert_eq!((Symbol::known(counted.as_str()), NameAllowance::is_refused()), (None, true));
                assert_eq!(Symbol::new(&text(3)), sym::EMPTY);
            }
            assert!(NameAllowance::is_refused());
        }
        assert!(!NameAllowance::is_refused());
        assert_eq!(Symbol::new(&text(2)).as_str(), text(2));
    }

    #[test]
    fn equal_texts_share_a_symbol() {
        assert_eq!(Symbol::new("bob"), Symbol::new("bob"));
        assert_ne!(Symbol::new("bob"), Symbol::new("amy"));
        assert_eq!(Symbol::new("self"), sym::SELF);
        assert_eq!(sym::SOURCE.as_str(), "source");
        assert_eq!(sym::TIMEOUT.as_str(), "timeout");
    }

    #[test]
    fn threads_make_each_name_once() {
        let made: Vec<Vec<Symbol>> = std::thread::scope(|s| {
            let threads: Vec<_> =
                (0..4).map(|_| s.spawn(|| (0..1000).map(|i| Symbol::new(&format!("t{i}"))).collect())).collect();
            threads.into_iter().filter_map(|t| t.join().ok()).collect()
        });
        assert!(made.windows(2).all(|pair| pair[0] == pair[1]));
    }
}
