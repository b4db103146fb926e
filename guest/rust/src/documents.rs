//! Documents that a node offers: `whimbrel run --offer NAME=FOLDER`, granted by `[[grant]]` in its policy.

use crate::context::Context;
use crate::error::{Error, ErrorKind};
use crate::value::Value;

/// Number of documents that are requested at a time by an iterator.
const PAGE: usize = 100;
/// Number of bytes of a document that are requested at a time.
const PART: usize = 64 << 10;

/// Collection of documents on the agent's node. It is just a name: on another node it means that node's collection of
/// this name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Documents<'a> {
    environment: &'a str,
}

/// Entry of a document in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// Name, with the folders: `poems/ozymandias.txt`.
    pub name: String,
    /// Length in bytes.
    pub bytes: usize,
}

impl Context {
    /// Returns the documents that the node offers by this name (capability `environments`).
    ///
    /// ```
    /// use whimbrel_guest::{Context, Error, agent};
    ///
    /// #[agent]
    /// async fn reader(ctx: Context) -> Result<(), Error> {
    ///     ctx.move_to("n2").await?;
    ///     for document in ctx.documents("library").iter() {
    ///         let document = document?;
    ///         if ctx.documents("library").read(&document.name)?.contains("whimbrel") {
    ///             ctx.print(document.name);
    ///         }
    ///     }
    ///     Ok(())
    /// }
    /// ```
    pub fn documents(self, environment: &str) -> Documents<'_> {
        Documents { environment }
    }
}

impl<'a> Documents<'a> {
    fn ask(self, request: &Value) -> Result<Value, Error> {
        Context.act(self.environment, request)
    }

    /// Returns the number of documents.
    ///
    /// # Errors
    /// The node has no documents by this name, or they are not granted.
    pub fn count(self) -> Result<usize, Error> {
        self.ask(&Value::atom("count"))?.as_int().and_then(|count| count.try_into().ok()).ok_or_else(strange)
    }

    /// Returns at most `count` entries in the order of their names, from number `from` (0 is the first); none after the
    /// last.
    ///
    /// # Errors
    /// As for [`Documents::count`].
    pub fn list(self, from: usize, count: usize) -> Result<Vec<Document>, Error> {
        let listed = self.ask(&Value::term("list", [number(from), number(count)]))?;
        listed.items().iter().map(|item| document(item).ok_or_else(strange)).collect()
    }

    /// Returns an iterator over all entries, which requests them page by page.
    pub fn iter(self) -> impl Iterator<Item = Result<Document, Error>> + use<'a> {
        let mut page = Vec::new().into_iter();
        let mut from = 0;
        std::iter::from_fn(move || {
            if page.len() == 0 {
                match self.list(from, PAGE) {
                    Ok(next) => page = next.into_iter(),
                    Err(error) => return Some(Err(error)),
                }
            }
            from += 1;
            page.next().map(Ok)
        })
    }

    /// Reads a document that is text.
    ///
    /// # Errors
    /// There is no document of this name, or it is no UTF-8; or as for [`Documents::count`].
    pub fn read(self, name: &str) -> Result<String, Error> {
        let no_text = |_| Error::new(ErrorKind::Malformed, format!("{name} is no text"));
        String::from_utf8(self.read_bytes(name)?).map_err(no_text)
    }

    /// Reads a document of any kind and length.
    ///
    /// # Errors
    /// There is no document of this name; or as for [`Documents::count`].
    pub fn read_bytes(self, name: &str) -> Result<Vec<u8>, Error> {
        let mut all = Vec::new();
        loop {
            let read = self.ask(&Value::term("read", [Value::text(name), number(all.len()), number(PART)]))?;
            let part = match read {
                Value::Term(part) => part.arguments.into_iter().next(),
                _ => None,
            };
            let part = match part {
                Some(Value::Text(text)) => text.into_bytes(),
                Some(Value::Bytes(bytes)) => bytes,
                _ => return Err(strange()),
            };
            // A part may be shorter than requested by less than a character, since no character is cut.
            let is_last = part.len() + 4 <= PART;
            if all.is_empty() {
                all = part;
            } else {
                all.extend_from_slice(&part);
            }
            if is_last {
                return Ok(all);
            }
        }
    }
}

fn document(item: &Value) -> Option<Document> {
    match item.as_term() {
        Some(("document", [name, bytes])) => {
            Some(Document { name: name.as_str()?.to_owned(), bytes: bytes.as_int()?.try_into().ok()? })
        }
        _ => None,
    }
}

fn number(number: usize) -> Value {
    Value::Int(number as i64)
}

fn strange() -> Error {
    Error::new(ErrorKind::Malformed, "that environment has no documents")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Trial;

    async fn idle(_: Context) {}

    #[test]
    fn documents_are_listed_and_read() {
        let mut trial = Trial::of_task(idle);
        let many: Vec<String> = (0..2 * PAGE + 1).map(|number| format!("d{number:03}")).collect();
        trial.offers("library", many.iter().map(|name| (name.clone(), format!("I am {name}"))));
        let library = Context.documents("library");
        assert_eq!(library.count(), Ok(many.len()));
        let names: Vec<String> = library.iter().map(|document| document.unwrap().name).collect();
        assert_eq!(names, many);
        assert_eq!(library.list(1, 1), Ok(vec![Document { name: "d001".to_owned(), bytes: 9 }]));
        assert_eq!(library.read("d007").as_deref(), Ok("I am d007"));
        assert_eq!(library.read("nothing").unwrap_err().kind, ErrorKind::Unknown);
        assert_eq!(Context.documents("archive").count().unwrap_err().kind, ErrorKind::Denied);
    }

    #[test]
    fn long_documents_are_read_in_parts() {
        let mut trial = Trial::of_task(idle);
        let texts = ["é".repeat(PART), "x".repeat(PART), format!("{}é", "x".repeat(PART - 1)), String::new()];
        trial.offers("library", texts.iter().enumerate().map(|(at, text)| (at.to_string(), text.clone())));
        for (at, text) in texts.iter().enumerate() {
            assert_eq!(Context.documents("library").read(&at.to_string()).as_ref(), Ok(text));
        }
    }
}
