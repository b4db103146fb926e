//! Cursor: position up to which a reader has read the message logs of a platform's nodes.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// Cursor: the number of the last entry that was read of each node, as `n1:5321,n2:17`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cursor {
    read: BTreeMap<String, u64>,
    /// A number without a node's name.
    lone: Option<u64>,
}

impl Cursor {
    /// Returns the number of the last entry of this node that was read; 0 if none was. A number without a name is any
    /// node's.
    pub fn of(&self, node: &str) -> u64 {
        self.read.get(node).copied().or(self.lone).unwrap_or_default()
    }

    /// Returns true for a number without a node's name.
    pub fn is_lone(&self) -> bool {
        self.lone.is_some()
    }

    /// Notes that a node's entries were read up to this one.
    pub fn advance(&mut self, node: &str, number: u64) {
        self.read.insert(node.to_owned(), number);
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, (node, number)) in self.read.iter().enumerate() {
            let comma = if place == 0 { "" } else { "," };
            write!(f, "{comma}{node}:{number}")?;
        }
        Ok(())
    }
}

impl FromStr for Cursor {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut cursor = Self::default();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let (node, number) = part.rsplit_once(':').unwrap_or(("", part));
            let number = number.parse().map_err(|_| format!("`{part}` is no cursor: those are like n1:5321"))?;
            match node {
                "" => cursor.lone = Some(number),
                node => cursor.advance(node, number),
            }
        }
        Ok(cursor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursors_read_back() {
        let read = |text: &str| text.parse::<Cursor>();
        let cursor = read("n2:17,n1:5321").expect("it is one");
        assert_eq!((cursor.of("n1"), cursor.of("n2"), cursor.of("n3")), (5321, 17, 0));
        assert_eq!(cursor.to_string(), "n1:5321,n2:17");
        assert_eq!(read(&cursor.to_string()).as_ref(), Ok(&cursor));
        assert_eq!(read("host:7001:4").map(|cursor| cursor.of("host:7001")), Ok(4));
        assert_eq!(read("12").map(|cursor| (cursor.of("n1"), cursor.is_lone())), Ok((12, true)));
        assert_eq!(read(""), Ok(Cursor::default()));
        assert!(read("n1:x").is_err_and(|why| why.contains("n1:x")));
        assert!(read("n1").is_err());
    }
}
