//! Programs that came from other nodes with their agents: in memory as long as they are used, and some time beyond.

use std::sync::Arc;

use whimbrel_bdi::code::Image;
use whimbrel_platform::durable::CodeHash;
use whimbrel_platform::limits::CODE_MEMORY_BYTES_MAX;
use whimbrel_platform::mobility::FetchError;

use crate::guests::GuestCode;

/// Bytes that a program takes beside its text, however short that is: so there cannot be too many of them.
const OVERHEAD_BYTES: usize = 64 << 10;

/// Compiled code of agents.
#[derive(Clone, Debug)]
pub enum Made {
    /// An AgentSpeak program.
    Program(Arc<Image>),
    /// A WebAssembly module.
    Module(GuestCode),
}

impl Made {
    /// Returns true if an agent uses this code.
    fn is_used(&self) -> bool {
        match self {
            Self::Program(image) => Arc::strong_count(image) > 1,
            Self::Module(code) => code.is_used(),
        }
    }
}

/// One of them.
#[derive(Debug)]
struct ForeignEntry {
    code: CodeHash,
    made: Made,
    /// Bytes as they travel.
    bytes: Arc<[u8]>,
}

/// See the module.
#[derive(Debug, Default)]
pub struct Foreign {
    /// Entries in the order in which they came.
    entries: Vec<ForeignEntry>,
}

impl Foreign {
    fn entry(&self, code: CodeHash) -> Option<&ForeignEntry> {
        self.entries.iter().find(|entry| entry.code == code)
    }

    /// Returns the compiled program of this code.
    pub fn find(&self, code: CodeHash) -> Option<&Made> {
        self.entry(code).map(|entry| &entry.made)
    }

    /// Returns the code as it travels.
    pub fn bytes(&self, code: CodeHash) -> Option<Arc<[u8]>> {
        self.entry(code).map(|entry| Arc::clone(&entry.bytes))
    }

    /// Returns all programs and modules in memory, with their sizes in bytes.
    pub fn all(&self) -> impl Iterator<Item = (CodeHash, &Made, u64)> {
        self.entries.iter().map(|entry| (entry.code, &entry.made, entry.bytes.len() as u64))
    }

    /// Stores a program or module. Unused ones make room for it.
    ///
    /// # Errors
    /// There is none.
    pub fn keep(&mut self, code: CodeHash, made: Made, bytes: Arc<[u8]>) -> Result<(), FetchError> {
        if self.entry(code).is_some() {
            return Ok(());
        }
        let takes = |bytes: &[u8]| bytes.len() + OVERHEAD_BYTES;
        let taken = self.entries.iter().map(|entry| takes(&entry.bytes)).sum();
        let mut room = CODE_MEMORY_BYTES_MAX.saturating_sub(taken);
        self.entries.retain(|entry| {
            let goes = room < takes(&bytes) && !entry.made.is_used();
            room += if goes { takes(&entry.bytes) } else { 0 };
            !goes
        });
        if room < takes(&bytes) {
            let why = format!("agents from other nodes already use {CODE_MEMORY_BYTES_MAX} bytes of programs");
            return Err(FetchError::Inadmissible(why));
        }
        self.entries.push(ForeignEntry { code, made, bytes });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image() -> Arc<Image> {
        Arc::new(Image::default())
    }

    #[test]
    fn what_no_agent_uses_makes_room() {
        let (mut foreign, used) = (Foreign::default(), image());
        let third: Arc<[u8]> = vec![0; CODE_MEMORY_BYTES_MAX / 3 - OVERHEAD_BYTES].into();
        let mut keep = |number: u8, image: &Arc<Image>| {
            foreign.keep(CodeHash([number; 32]), Made::Program(Arc::clone(image)), Arc::clone(&third))
        };
        assert_eq!(keep(1, &used), Ok(()));
        assert_eq!(keep(2, &image()), Ok(()));
        assert_eq!([keep(3, &used), keep(4, &used)], [const { Ok(()) }; 2]);
        assert!(keep(5, &used).is_err(), "all are used");
        assert_eq!(keep(4, &used), Ok(()), "it is there");
        let there = [1, 2, 3, 4, 5].map(|number| foreign.find(CodeHash([number; 32])).is_some());
        assert_eq!(there, [true, false, true, true, false]);
    }
}
