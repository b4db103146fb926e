//! Encoding of numbers and bytes in states: LEB128 varints, all checked when they are read.

/// Error: the bytes are no state of such an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a state of this agent")]
pub struct BadBytes;

pub(crate) fn put_varint(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

pub(crate) fn put_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    put_varint(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

/// Reader of a state.
pub(crate) struct StateReader<'a> {
    left: &'a [u8],
}

impl<'a> StateReader<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { left: bytes }
    }

    pub fn is_done(&self) -> bool {
        self.left.is_empty()
    }

    pub fn rest(&self) -> &'a [u8] {
        self.left
    }

    pub fn take(&mut self, count: usize) -> Result<&'a [u8], BadBytes> {
        let (taken, left) = self.left.split_at_checked(count).ok_or(BadBytes)?;
        self.left = left;
        Ok(taken)
    }

    pub fn byte(&mut self) -> Result<u8, BadBytes> {
        self.take(1)?.first().copied().ok_or(BadBytes)
    }

    pub fn varint(&mut self) -> Result<u64, BadBytes> {
        let mut number = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(BadBytes)
    }

    pub fn length(&mut self) -> Result<usize, BadBytes> {
        usize::try_from(self.varint()?).map_err(|_| BadBytes)
    }

    pub fn bytes(&mut self) -> Result<&'a [u8], BadBytes> {
        let length = self.length()?;
        self.take(length)
    }

    pub fn u64(&mut self) -> Result<u64, BadBytes> {
        Ok(u64::from_le_bytes(self.take(8)?.try_into().map_err(|_| BadBytes)?))
    }
}
