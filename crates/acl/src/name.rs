//! Counted names: forgotten with their last holder.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;

use crate::Symbol;
use crate::symbol::{NameShare, count};

/// Number of a name: the index into tables of names. No two names have the same number at the same time.
///
/// The number is borrowed from its name, because it is given to another name after the last holder is gone. So an old
/// number cannot be used:
///
/// ```compile_fail,E0505
/// # use whimbrel_acl::Name;
/// let name = Name::new("amy");
/// let key = name.key();
/// drop(name);
/// key.index();
/// ```
///
/// A symbol stays as long as the process, and so does its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NameKey<'a> {
    index: u32,
    name: PhantomData<&'a Name>,
}

impl NameKey<'_> {
    /// Returns a dense number, as [`Symbol::index`] is.
    #[inline]
    pub const fn index(self) -> u32 {
        self.index
    }
}

/// Interned name that takes memory only while it has a holder, or if it is also a [`Symbol`]. Names of other nodes'
/// agents are such: most of them are never used here.
///
/// Equal names have equal numbers, and a [`Symbol`] of the same text has that number, too. After its last holder is
/// gone, the number is given to another name. A symbol is copied freely and lives as long as the process. So a
/// counted name has a symbol only if a caller [asked](Name::symbol) for it, or made one of that text
/// ([`Symbol::new`]). Nothing made of symbols can have a name that has no symbol.
#[derive(Clone)]
pub struct Name {
    index: u32,
    /// `None` if there was a symbol of this text when the name was made.
    counted: Option<NameShare>,
}

impl Name {
    /// Returns the name of this text.
    pub fn new(text: &str) -> Self {
        match count(text) {
            Ok(symbol) => symbol.into(),
            Err(counted) => Self { index: counted.id(), counted: Some(counted) },
        }
    }

    /// Returns the text of the name.
    pub fn as_str(&self) -> &str {
        match &self.counted {
            Some(counted) => counted.text(),
            None => Symbol::numbered(self.index).as_str(),
        }
    }

    /// Returns the number of the name while it has a holder.
    #[inline]
    pub fn key(&self) -> NameKey<'_> {
        NameKey { index: self.index, name: PhantomData }
    }

    /// Returns the symbol of this name, if there is one already. If there is none, a thread that makes it later sees
    /// all effects of the caller before this call.
    pub fn known(&self) -> Option<Symbol> {
        match &self.counted {
            Some(counted) => counted.symbol(),
            None => Some(Symbol::numbered(self.index)),
        }
    }

    /// Returns the symbol of this name, which is kept as long as the process from now on.
    pub fn symbol(&self) -> Symbol {
        match &self.counted {
            Some(counted) => Symbol::new(counted.text()),
            None => Symbol::numbered(self.index),
        }
    }
}

impl From<Symbol> for Name {
    fn from(symbol: Symbol) -> Self {
        Self { index: symbol.index(), counted: None }
    }
}

impl From<&Self> for Name {
    fn from(name: &Self) -> Self {
        name.clone()
    }
}

impl From<&str> for Name {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl From<Symbol> for NameKey<'_> {
    #[inline]
    fn from(symbol: Symbol) -> Self {
        Self { index: symbol.index(), name: PhantomData }
    }
}

impl<'a> From<&'a Name> for NameKey<'a> {
    #[inline]
    fn from(name: &'a Name) -> Self {
        name.key()
    }
}

impl PartialEq for Name {
    fn eq(&self, other: &Self) -> bool {
        self.index == other.index
    }
}

impl Eq for Name {}

impl PartialEq<Symbol> for Name {
    fn eq(&self, other: &Symbol) -> bool {
        self.index == other.index()
    }
}

impl Hash for Name {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.index.hash(state);
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_of_dropped_name_is_reused() {
        let texts = |round: u32| (0..1_000).map(move |at| format!("counted-{round}-{at}"));
        let mut all = std::collections::BTreeSet::new();
        for round in 0..100 {
            let names: Vec<Name> = texts(round).map(|text| Name::new(&text)).collect();
            assert!(texts(round).zip(&names).all(|(text, name)| name.as_str() == text && Name::new(&text) == *name));
            let keys: std::collections::BTreeSet<u32> = names.iter().map(|name| name.key().index()).collect();
            assert_eq!(keys.len(), names.len());
            all.extend(keys);
        }
        // Of a hundred thousand names, a thousand are there at a time. Other tests take some of the free numbers.
        assert!(all.len() < 50_000, "{}", all.len());
    }

    #[test]
    fn symbol_keeps_counted_name() {
        let name = Name::new("counted-then-kept");
        assert_eq!(name.known(), None);
        let made = Symbol::bytes_made_here();
        let symbol = Symbol::new("counted-then-kept");
        assert!(Symbol::bytes_made_here() > made, "only then it costs something that stays");
        assert_eq!((name.known(), name.symbol(), NameKey::from(symbol)), (Some(symbol), symbol, name.key()));
        assert_eq!((Name::new("counted-then-kept"), name == symbol), (name.clone(), true));
        drop(name);
        let others: Vec<Name> = (0..100).map(|at| Name::new(&format!("counted-after-{at}"))).collect();
        assert!(others.iter().all(|other| *other != symbol));
        assert_eq!((symbol.as_str(), Symbol::new("counted-then-kept")), ("counted-then-kept", symbol));
    }

    #[test]
    fn symbol_lives_as_long_as_name() {
        let name = Name::new("counted-and-asked-for");
        assert_eq!(Symbol::known("counted-and-asked-for"), Some(name.symbol()));
        drop(Name::new("counted-and-gone"));
        assert_eq!(Symbol::known("counted-and-gone"), None);
    }

    #[test]
    fn threads_agree_on_short_lived_names() {
        // Each holder of a name or its symbol sees the same text and key as all other holders at that time.
        let work = |thread: u64| {
            let (mut kept, mut seed) = (Vec::<Name>::new(), thread);
            for _ in 0..20_000 {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let text = format!("shared-{}", (seed >> 33) % 50);
                let name = Name::new(&text);
                assert_eq!((name.as_str(), Name::new(&text).key()), (text.as_str(), name.key()));
                let rare = format!("rare-{}", (seed >> 33) % 5_000);
                if (seed >> 20).is_multiple_of(64) {
                    assert_eq!(NameKey::from(Symbol::new(&rare)), Name::new(&rare).key());
                }
                assert_eq!(Name::new(&rare).as_str(), rare);
                kept.push(name);
                if kept.len() > 5 {
                    kept.swap_remove((seed >> 40) as usize % 5);
                }
            }
        };
        std::thread::scope(|scope| (1..5).for_each(|thread| drop(scope.spawn(move || work(thread)))));
    }
}
