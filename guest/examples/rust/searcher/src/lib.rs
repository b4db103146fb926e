//! Searches the documents that the node offers as `library`, wherever it is: `request find(Word)`.

use whimbrel_guest::{Agent, Context, Error, Failure, Message, Performative, Value, agent};

#[derive(Default)]
struct Searcher;

#[agent]
impl Agent for Searcher {
    fn on_message(&mut self, ctx: Context, message: Message) -> Result<(), Failure> {
        let answer = match message.content.as_term() {
            Some(("find", [word])) if message.performative == Performative::Request => {
                match find(ctx, word.as_str().unwrap_or_default()) {
                    Ok(found) => message.reply(Performative::Inform, found),
                    Err(error) => message.reply(Performative::Failure, error.to_string()),
                }
            }
            _ => message.reply(Performative::NotUnderstood, "I find words"),
        };
        Ok(ctx.send(&answer)?)
    }
}

/// Searches documents for a word. Returns the names of those that contain it, and the number of all.
fn find(ctx: Context, word: &str) -> Result<Value, Error> {
    let library = ctx.documents("library");
    let mut found = Vec::new();
    let mut count = 0;
    for document in library.iter() {
        let name = document?.name;
        count += 1;
        if library.read(&name)?.contains(word) {
            found.push(Value::from(name));
        }
    }
    Ok(Value::term("found", [Value::List(found), Value::Int(count)]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use whimbrel_guest::testing::Trial;

    #[test]
    fn words_are_found() {
        let mut trial = Trial::of_agent::<Searcher>();
        let request = Message::request("searcher", Value::term("find", ["wader".into()]));
        trial.message(request.clone()).expect("is read");
        assert_eq!(trial.sent()[0].performative, Performative::Failure);
        trial.offers("library", [("a", "a wader"), ("b", "a gull"), ("c", "waders")]);
        trial.message(request).expect("is read");
        let found = Value::term("found", [Value::list(["a", "c"]), 3.into()]);
        assert_eq!(trial.sent()[0].content, found);
    }
}
