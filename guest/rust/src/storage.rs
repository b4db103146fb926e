//! What an agent keeps on a node: `[[grant]] storage` in its policy.

use crate::context::Context;
use crate::error::{Error, ErrorKind};
use crate::host;
use crate::value::Value;

/// What this agent and its clones keep on the node where they are. It stays there when they go on, and is found again by whoever of
/// them comes back; what is kept on another node is something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Storage(());

impl Context {
    /// What the agent keeps on the node where it is (capability `storage`).
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
    /// What is kept under this key, if anything is.
    ///
    /// # Errors
    /// It is not granted.
    pub fn get(self, key: &str) -> Result<Option<Vec<u8>>, Error> {
        known(host::fetch(host::storage_get(key.as_bytes())))
    }

    /// Keeps this under a key, in the place of what was there before.
    ///
    /// # Errors
    /// It is not granted, or too much: the key has 256 bytes at most, the value 256 KiB, and there are quotas.
    pub fn put(self, key: &str, value: &[u8]) -> Result<(), Error> {
        host::check(host::storage_put(key.as_bytes(), value)).map(drop)
    }

    /// Keeps it no more; whether there was anything.
    ///
    /// # Errors
    /// It is not granted.
    pub fn delete(self, key: &str) -> Result<bool, Error> {
        known(host::check(host::storage_delete(key.as_bytes()))).map(|was_there| was_there.is_some())
    }

    /// All keys that begin so, in their order.
    ///
    /// # Errors
    /// It is not granted.
    pub fn keys(self, prefix: &str) -> Result<Vec<String>, Error> {
        let mut keys = Vec::<String>::new();
        loop {
            // As many as the node tells at a time.
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

/// That there is none is an answer.
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
