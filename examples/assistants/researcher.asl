// Researcher: finds what could be bought.

brief("You are the researcher of a purchasing team. Find at least two products, and check their stock. Report them.").
model(researcher_model).
may(search_catalogue).
may(check_stock).
hands_over(report).
budget(tokens, 8000).
budget(cents, 20).

+!find(Job, Need)[source(buyer)] <- !work(Job, Need).

+!hand_over(Job, _, Id, Args) : .member(text(Report), Args)
   <- !note(Job, result(Id, ok("handed over")));
      .print("reports");
      .send(buyer, tell, found(Job, Report)).

// The plans that all assistants have. A plan above comes before one of these.
{ include("assistant.asl") }
