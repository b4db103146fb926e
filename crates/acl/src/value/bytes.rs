//! Bytes that are shared; see [`Bytes`].

use std::fmt;
use std::ops::Deref;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use triomphe::ThinArc;

/// Immutable bytes that are cheap to clone. The bytes, their length and the reference count share one allocation. A
/// vector behind a counter would take two.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(ThinArc<(), u8>);

impl Deref for Bytes {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.0.slice
    }
}

/// Copies the bytes.
impl From<&[u8]> for Bytes {
    #[inline]
    fn from(bytes: &[u8]) -> Self {
        Self(ThinArc::from_header_and_slice((), bytes))
    }
}

/// Copies them: the count stands beside them, for which a vector has no room.
impl From<Vec<u8>> for Bytes {
    fn from(bytes: Vec<u8>) -> Self {
        Self::from(bytes.as_slice())
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

/// Serializes as a vector of bytes.
impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (**self).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::deserialize(deserializer).map(Self::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_keep_content_and_share_it() {
        for length in [0, 1, 7, 8, 64, 1_000] {
            let made: Vec<u8> = (0..length).map(|n| n as u8).collect();
            let bytes = Bytes::from(made.as_slice());
            let other = bytes.clone();
            assert_eq!((&*bytes, &bytes), (&*made, &Bytes::from(made.clone())));
            drop(bytes);
            assert_eq!((&*other, other.as_ptr() as usize % 8), (&*made, 0));
        }
        assert!(Bytes::from(vec![1, 2]) < Bytes::from(vec![1, 2, 0]) && Bytes::from(vec![2]) > Bytes::from(vec![1, 9]));
        assert_eq!(size_of::<Bytes>(), size_of::<usize>());
    }

    #[test]
    fn bytes_print_like_a_vector() {
        let bytes = Bytes::from(vec![0, 7, 255]);
        let json = serde_json::to_string(&bytes).unwrap_or_default();
        assert_eq!(json, "[0,7,255]");
        assert_eq!(serde_json::from_str::<Bytes>(&json).ok(), Some(bytes));
    }
}
