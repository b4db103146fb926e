//! Reader of frames that guests wrote: every length is checked against the bytes that are left.

/// Error of decoding a frame.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} at byte {at}")]
pub struct GuestFrameError {
    /// Fault.
    pub what: &'static str,
    /// Byte offset.
    pub at: usize,
}

/// Reader of a frame.
pub(super) struct GuestFrameReader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> GuestFrameReader<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    pub fn error(&self, what: &'static str) -> GuestFrameError {
        GuestFrameError { what, at: self.at }
    }

    pub fn is_done(&self) -> bool {
        self.at == self.bytes.len()
    }

    /// Returns the number of bytes that are left.
    pub fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    pub fn take(&mut self, count: usize) -> Result<&'a [u8], GuestFrameError> {
        let end = self.at.checked_add(count).filter(|end| *end <= self.bytes.len());
        let taken = end.and_then(|end| self.bytes.get(self.at..end)).ok_or_else(|| self.error("it ends too early"))?;
        self.at += count;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], GuestFrameError> {
        let bytes = self.take(N)?;
        <[u8; N]>::try_from(bytes).map_err(|_| self.error("it ends too early"))
    }

    pub fn byte(&mut self) -> Result<u8, GuestFrameError> {
        self.array().map(|[byte]| byte)
    }

    pub fn u32(&mut self) -> Result<u32, GuestFrameError> {
        self.array().map(u32::from_le_bytes)
    }

    pub fn i64(&mut self) -> Result<i64, GuestFrameError> {
        self.array().map(i64::from_le_bytes)
    }

    pub fn f64(&mut self) -> Result<f64, GuestFrameError> {
        self.array().map(f64::from_le_bytes)
    }

    /// Reads a length, and as many bytes.
    pub fn bytes(&mut self) -> Result<&'a [u8], GuestFrameError> {
        let length = self.u32()?;
        self.take(length as usize)
    }

    /// Reads a length, and as many bytes of UTF-8.
    pub fn text(&mut self) -> Result<&'a str, GuestFrameError> {
        let bytes = self.bytes()?;
        utf8(bytes).map_err(|what| GuestFrameError { what, at: self.at - bytes.len() })
    }

    /// Reads a number of items, each of which takes at least `least` bytes.
    pub fn count(&mut self, least: usize) -> Result<usize, GuestFrameError> {
        let count = self.u32()? as usize;
        if count > self.left() / least { Err(self.error("truncated vector")) } else { Ok(count) }
    }
}

pub(super) fn utf8(bytes: &[u8]) -> Result<&str, &'static str> {
    std::str::from_utf8(bytes).map_err(|_| "text that is not UTF-8")
}
