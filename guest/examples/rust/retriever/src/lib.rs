//! Agent that goes to the documents, and comes home with those that contain a word: `request fetch(Word, Node)`. It is
//! the agent of `whimbrel bench mobility --part retrieval` and `--part advisor`. For the latter it also carries bytes:
//! `request carry(Bytes)`.

use whimbrel_guest::{Context, Error, Performative, Template, Value, agent};

#[agent]
async fn retriever(ctx: Context) -> Result<(), Error> {
    let mut burden = Vec::new();
    loop {
        let asked = ctx.receive(Template::performative(Performative::Request)).await;
        let answer = match asked.content.as_term() {
            Some(("fetch", [word, node])) => {
                fetch(ctx, word.as_str().unwrap_or_default(), node.as_str().unwrap_or_default()).await
            }
            Some(("carry", [bytes])) => {
                burden = noise(bytes.as_int().unwrap_or_default());
                ctx.send(&asked.reply(Performative::Inform, burden.len() as i64))?;
                continue;
            }
            _ => {
                ctx.send(&asked.reply(Performative::NotUnderstood, "fetch(Word, Node), or carry(Bytes)"))?;
                continue;
            }
        };
        // Nobody reads these bytes again, so they are not kept.
        std::hint::black_box(&burden);
        ctx.send(&match answer {
            Ok(found) => asked.reply(Performative::Inform, Value::list(found)),
            Err(error) => asked.reply(Performative::Failure, error.to_string()),
        })?;
    }
}

/// Makes bytes that no compression shortens.
fn noise(bytes: i64) -> Vec<u8> {
    let mut state = 1_u64;
    let mut byte = |_| {
        // xorshift (Marsaglia 2003)
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    (0..bytes).map(&mut byte).collect()
}

/// Texts on a node that contain a word.
async fn fetch(ctx: Context, word: &str, node: &str) -> Result<Vec<String>, Error> {
    let home = ctx.node();
    ctx.move_to(node).await?;
    let found = search(ctx, word);
    ctx.print("done");
    ctx.move_to(&home).await?;
    found
}

fn search(ctx: Context, word: &str) -> Result<Vec<String>, Error> {
    let library = ctx.documents("library");
    let mut found = Vec::new();
    for document in library.iter() {
        let text = library.read(&document?.name)?;
        if text.contains(word) {
            found.push(text);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use whimbrel_guest::Message;
    use whimbrel_guest::testing::Trial;

    #[test]
    fn retriever_brings_documents_home() {
        let mut trial = Trial::of_task(retriever);
        trial.start(Value::Null).expect("starts");
        trial.offers("library", [("a", "a wader"), ("b", "a gull")]);
        trial.message(Message::request("retriever", Value::term("carry", [100.into()]))).expect("is read");
        assert_eq!(trial.sent().pop().expect("an answer").content, 100.into());
        let request = Message::request("retriever", Value::term("fetch", ["wader".into(), "n2".into()]));
        trial.message(request).expect("is read");
        assert_eq!((trial.arrive(None), trial.arrive(None)), (Ok(true), Ok(true)));
        assert_eq!(trial.sent()[0].content, Value::list(["a wader"]));
    }
}
