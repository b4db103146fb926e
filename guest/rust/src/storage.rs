//! Storage of an agent on a node: `[[grant]] storage` in the node's policy.

use crate::context::Context;
use crate::error::{Error, ErrorKind};
use crate::host;
use crate::value::Value;

/// Storage of this agent and its clones on their present node. It stays on the node when they leave, and those that
/// come back find it again. Each node has its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Storage(());

impl Context {
    /// Returns the agent's storage on its present node (capability `storage`).
    ///
    /// ```
    /// use whimbrel_guest::{Context, Error, agent};
    ///
    /// #[agent]
    /// async fn inspector(ctx: Context) -> Result<(), Error> {
    ///     ctx.move_to("n2").await?;
    ///     let visits = ctx.storage().get("visits")?.map_or(0, |kept| kept.len());
    ///     ctx.storage().put("visits", &vec![b'|'; visits + 1])?;
    ///     ctx.print(format!("I have been here {visits} times before"));
    ///     Ok(())
    /// }
    /// ```
    pub fn storage(self) -> Storage {
        Storage(())
    }
}

impl Storage {
    /// Returns the value of a key, if there is one.
    ///
    /// # Errors
    /// The capability is not granted.
    pub fn get(self, key: &str) -> Result<Option<Vec<u8>>, Error> {
        known(host::fetch(host::storage_get(key.as_bytes())))
    }

    /// Stores a value under a key, in place of the former one.
    ///
    /// # Errors
    /// The capability is not granted; the key exceeds 256 bytes or the value 256 KiB; or a quota is used up.
    pub fn put(self, key: &str, value: &[u8]) -> Result<(), Error> {
        host::check(host::storage_put(key.as_bytes(), value)).map(drop)
    }

    /// Deletes a key. Returns true if it had a value.
    ///
    /// # Errors
    /// The capability is not granted.
    pub fn delete(self, key: &str) -> Result<bool, Error> {
        known(host::check(host::storage_delete(key.as_bytes()))).map(|was_there| was_there.is_some())
    }

    /// Returns all keys with this prefix, in their order.
    ///
    /// # Errors
    /// The capability is not granted.
    pub fn keys(self, prefix: &str) -> Result<Vec<String>, Error> {
        let mut keys = Vec::<String>::new();
        loop {
            // As many as the node returns at a time.
            let after = keys.last().map_or("", String::as_str);
            let listed = host::fetch(host::storage_list(prefix.as_bytes(), after.as_bytes()))?;
            let listed = Value::decode(&listed).map_err(|error| Error::new(ErrorKind::Malformed, error.to_string()))?;
            let before = keys.len();
            keys.extend(listed.items().iter().filter_map(Value::as_str).map(str::to_owned));
            if keys.len() == before {
                return Ok(keys);
            }
        }
    }
}

/// Turns the error of a missing key into `None`.
fn known<T>(answer: Result<T, Error>) -> Result<Option<T>, Error> {
    match answer {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.kind == ErrorKind::Unknown => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Trial;

    async fn idle(_: Context) {}

    #[test]
    fn storage_stays_on_its_node() {
        let mut trial = Trial::of_task(idle);
        let storage = Context.storage();
        assert_eq!(storage.put("k", b"v").map_err(|error| error.kind), Err(ErrorKind::Denied));
        trial.grants_storage();
        for number in 0..2_500 {
            storage.put(&format!("k{number:04}"), &[7; 3]).unwrap();
        }
        storage.put("other", b"").unwrap();
        let keys = storage.keys("k").unwrap();
        assert_eq!((keys.len(), keys.first().map(String::as_str)), (2_500, Some("k0000")));
        assert_eq!(storage.get("k0007"), Ok(Some(vec![7; 3])));
        assert_eq!((storage.delete("k0007"), storage.delete("k0007")), (Ok(true), Ok(false)));
        assert_eq!((storage.get("k0007"), storage.get("other")), (Ok(None), Ok(Some(Vec::new()))));
        trial.moved("n2").unwrap();
        assert_eq!(storage.keys(""), Ok(Vec::new()));
        trial.moved("n1").unwrap();
        assert_eq!(storage.keys("o"), Ok(vec!["other".to_owned()]));
    }
}
