//! Searcher for documents in libraries on other nodes, in two ways that rank alike:
//!
//! - `request search(Words, Count, [n2, n3])`: the searcher goes to each of these nodes, reads there, and comes home
//!   with the best hits;
//! - `request fetch(Words, Count, [librarian1, librarian2])`: the searcher stays, has these agents send all their
//!   documents, and reads here.
//!
//! Either way it answers `found([hit(Where, Name, Title, Line), ...], Documents)`, or `failure`.

mod ranking;

use whimbrel_guest::{Context, Error, Itinerary, Leg, Message, Performative, Template, TourEnd, Value, agent};

use crate::ranking::{Hit, Ranking};

/// Number of documents that a librarian is asked for at a time.
const PAGE: i64 = 50;

#[agent]
async fn searcher(ctx: Context) -> Result<(), Error> {
    loop {
        let asked = ctx.receive(Template::performative(Performative::Request)).await;
        let answer = match SearchTask::of(&asked.content) {
            Some(task) => match task.run(ctx).await {
                Ok(found) => asked.reply(Performative::Inform, found),
                Err(why) => asked.reply(Performative::Failure, why),
            },
            None => asked
                .reply(Performative::NotUnderstood, "search(Words, Count, Nodes), or fetch(Words, Count, Librarians)"),
        };
        ctx.send(&answer)?;
    }
}

/// Search task.
struct SearchTask {
    words: String,
    count: usize,
    /// Nodes to visit, or agents to ask.
    places: Vec<String>,
    goes: bool,
}

impl SearchTask {
    fn of(request: &Value) -> Option<Self> {
        let (name @ ("search" | "fetch"), [words, count, places]) = request.as_term()? else { return None };
        let places = places.items().iter().map(|place| place.as_str().map(str::to_owned)).collect::<Option<_>>()?;
        let (words, count) = (words.as_str()?.to_owned(), usize::try_from(count.as_int()?).ok()?);
        Some(Self { words, count, places, goes: name == "search" })
    }

    async fn run(self, ctx: Context) -> Result<Value, String> {
        let (mut best, mut documents) = (Vec::new(), 0);
        let mut note = |place: &str, ranking: Ranking| {
            documents += ranking.documents();
            best.extend(ranking.best(self.count).into_iter().map(|hit| (place.to_owned(), hit)));
            // Only the best hits travel on.
            best.sort_by(|(_, one), (_, other)| other.score.total_cmp(&one.score));
            best.truncate(self.count);
        };
        if self.goes {
            let mut tour = self.places.iter().fold(Itinerary::new(), |tour, node| tour.stop([node], ())).returning();
            while let Leg::At { node, .. } = tour.next(ctx).await {
                note(&node, read_here(ctx, &self.words).map_err(|error| format!("{node}: {error}"))?);
            }
            match tour.ended() {
                Some(TourEnd::NoWayBack(missed)) => return Err(missed.why.to_string()),
                Some(TourEnd::Recalled) => return Err("the searcher was called home".to_owned()),
                _ => {}
            }
            if let Some(missed) = tour.missed().first() {
                ctx.print(format!("{} was not searched: {}", missed.node, missed.why));
            }
        } else {
            for librarian in &self.places {
                note(librarian, fetch(ctx, librarian, &self.words).await?);
            }
        }
        let hits = best.into_iter().map(|(place, hit)| hit_of(place, hit)).collect();
        Ok(Value::term("found", [Value::List(hits), Value::Int(documents as i64)]))
    }
}

/// Ranks the documents of the present node.
fn read_here(ctx: Context, words: &str) -> Result<Ranking, Error> {
    let library = ctx.documents("library");
    let mut ranking = Ranking::of(words);
    for document in library.iter() {
        let name = document?.name;
        ranking.add(&name, &library.read(&name)?);
    }
    Ok(ranking)
}

/// Ranks the documents that an agent sends.
async fn fetch(ctx: Context, librarian: &str, words: &str) -> Result<Ranking, String> {
    let mut ranking = Ranking::of(words);
    for from in (0..).step_by(PAGE as usize) {
        let request = Message::request(librarian, Value::term("page", [Value::Int(from), Value::Int(PAGE)]));
        ctx.send(&request).map_err(|error| error.to_string())?;
        let answer = ctx.receive(Template::any().from(librarian)).await;
        let Some(("page", [_, texts])) = answer.content.as_term() else {
            return Err(format!("{librarian} sends no documents"));
        };
        for text in texts.items() {
            if let Some(("text", [name, text])) = text.as_term() {
                ranking.add(name.as_str().unwrap_or_default(), text.as_str().unwrap_or_default());
            }
        }
        if texts.items().len() < PAGE as usize {
            break;
        }
    }
    Ok(ranking)
}

fn hit_of(place: String, hit: Hit) -> Value {
    Value::term("hit", [Value::text(place), Value::text(hit.name), Value::text(hit.title), Value::text(hit.line)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use whimbrel_guest::testing::Trial;

    const WADERS: [(&str, &str); 3] = [
        ("a", "Gulls\n\nNoisy."),
        ("b", "The whimbrel\n\nA wader. The whimbrel calls."),
        ("c", "Waders\n\nOne is the whimbrel."),
    ];

    fn found(trial: &Trial) -> Value {
        trial.sent().pop().expect("an answer").content
    }

    #[test]
    fn searcher_reads_on_other_node() {
        let mut trial = Trial::of_task(searcher);
        trial.start(Value::Null).expect("starts");
        let request = Value::term("search", ["Whimbrel calls".into(), 1.into(), Value::list(["n2"])]);
        trial.message(Message::request("searcher", request)).expect("is read");
        trial.offers("library", WADERS);
        for _there_and_back in 0..2 {
            trial.arrive(None).expect("goes on");
        }
        let hit = ["n2", "b", "The whimbrel", "A wader. The whimbrel calls."].map(Value::text);
        assert_eq!(found(&trial), Value::term("found", [Value::List(vec![Value::term("hit", hit)]), 3.into()]));
    }

    #[test]
    fn searcher_reports_its_failure() {
        let mut trial = Trial::of_task(searcher);
        trial.start(Value::Null).expect("starts");
        for strange in
            [Value::Null, Value::term("search", ["a".into()]), Value::term("burn", [1.into(), 2.into(), 3.into()])]
        {
            trial.message(Message::request("searcher", strange)).expect("is read");
            assert_eq!(trial.sent().pop().expect("an answer").performative, Performative::NotUnderstood);
        }
    }
}
