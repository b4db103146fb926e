//! Limits of sizes in stores, and the name of a blob.

use whimbrel_platform::limits::{STORE_KEY_BYTES_MAX, STORE_VALUE_BYTES_MAX};
use whimbrel_platform::store::{BlobHash, WriteError};

/// Computes the SHA-256 of bytes.
pub fn hash_of(bytes: &[u8]) -> BlobHash {
    let mut hash = [0; 32];
    hash.copy_from_slice(ring::digest::digest(&ring::digest::SHA256, bytes).as_ref());
    BlobHash(hash)
}

/// Checks the sizes of a key and its value.
pub fn key_fits(key: &str, value: &[u8]) -> Result<(), WriteError> {
    if !key.is_empty() && key.len() <= STORE_KEY_BYTES_MAX && value.len() <= STORE_VALUE_BYTES_MAX {
        return Ok(());
    }
    Err(WriteError::TooBig {
        key_bytes: key.len(),
        key_bytes_max: STORE_KEY_BYTES_MAX,
        value_bytes: value.len(),
        value_bytes_max: STORE_VALUE_BYTES_MAX,
    })
}
