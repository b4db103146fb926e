//! Agent that leaves notes on the nodes that it visits: `note(Key, Text)`, `look(Key)`, `forget(Key)`, `list(Prefix)`,
//! and `go(Node)`.

use whimbrel_guest::{Agent, Context, Error, Failure, Message, Performative, Value, agent};

#[derive(Default)]
struct Keeper;

#[agent]
impl Agent for Keeper {
    fn on_message(&mut self, ctx: Context, message: Message) -> Result<(), Failure> {
        let answer = match done(ctx, &message) {
            Ok(answer) => message.reply(Performative::Inform, answer),
            Err(error) => message.reply(Performative::Failure, error.reason),
        };
        Ok(ctx.send(&answer)?)
    }
}

fn done(ctx: Context, message: &Message) -> Result<Value, Error> {
    let Some((what, arguments)) = message.content.as_term() else { return Ok("I keep notes".into()) };
    let text = |at: usize| arguments.get(at).and_then(Value::as_str).unwrap_or_default();
    let storage = ctx.storage();
    let found = match what {
        "note" => storage.put(text(0), text(1).as_bytes()).map(|()| Value::atom("done"))?,
        "look" => match storage.get(text(0))? {
            Some(note) => Value::text(String::from_utf8_lossy(&note)),
            None => Value::atom("nothing"),
        },
        "forget" => Value::atom(if storage.delete(text(0))? { "done" } else { "nothing" }),
        "list" => Value::list(storage.keys(text(0))?.into_iter().map(Value::text)),
        _ => ctx.depart(text(0)).map(|()| Value::atom("going"))?,
    };
    Ok(Value::term("kept", [Value::atom(what), found]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use whimbrel_guest::testing::Trial;

    #[test]
    fn notes_stay_on_their_node() {
        let mut trial = Trial::of_agent::<Keeper>();
        trial.grants_storage();
        let ask = |trial: &mut Trial, what: &str, arguments: &[&str]| {
            let request = Value::term(what, arguments.iter().map(|text| Value::text(*text)));
            trial.message(Message::request("keeper", request)).expect("is read");
            match trial.sent().remove(0).content {
                Value::Term(term) => term.arguments[1].clone(),
                other => other,
            }
        };
        assert_eq!(ask(&mut trial, "note", &["door", "blue"]), Value::atom("done"));
        assert_eq!(ask(&mut trial, "go", &["n2"]), Value::atom("going"));
        trial.arrive(None).expect("arrives");
        assert_eq!(ask(&mut trial, "look", &["door"]), Value::atom("nothing"));
        trial.moved("n1").expect("arrives");
        assert_eq!(ask(&mut trial, "look", &["door"]), Value::text("blue"));
        assert_eq!(ask(&mut trial, "list", &["d"]), Value::list(["door"]));
        assert_eq!(ask(&mut trial, "forget", &["door"]), Value::atom("done"));
    }
}
