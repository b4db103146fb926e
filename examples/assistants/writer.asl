// Writer: makes a proposal of what was found, and remembers objections for later purchases.

brief("You are the writer of a purchasing team. Propose one order, with its total in pounds.").
model(writer_model).
hands_over(propose).
budget(tokens, 8000).
budget(cents, 20).

+!write(Job, Draft, Need, Report)[source(buyer)]
   <- +draft(Job, Draft);
      .findall(Lesson, lesson(Lesson), Lessons);
      .concat("Needed: ", Need, "\nFound: ", Report, "\nEarlier objections: ", Lessons, Text);
      !work(Job, Text).

+!revise(Job, Draft, Objection)[source(buyer)]
   <- -draft(Job, _);
      +draft(Job, Draft);
      +lesson(Objection);
      .concat("The reviewer objects: ", Objection, Text);
      !work(Job, Text).

+!hand_over(Job, _, Id, Args)
   : .member(sku(Sku), Args) & .member(quantity(Quantity), Args) & .number(Quantity) & .member(total(Total), Args)
     & .number(Total) & .member(text(Text), Args) & draft(Job, Draft)
   <- !note(Job, result(Id, ok("handed over")));
      .print("proposes ", Quantity, " of ", Sku, " for ", Total, " pounds");
      .send(buyer, tell, proposed(Job, Draft, order(Sku, Quantity, Total), Text)).

// The plans that all assistants have. A plan above comes before one of these.
{ include("assistant.asl") }
