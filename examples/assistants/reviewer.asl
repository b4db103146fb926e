// Reviewer: holds a proposal against the rules of the house.

brief("You are the reviewer of a purchasing team. Read the policy, then judge the proposal: good, or again with a reason.").
model(reviewer_model).
may(read_policy).
hands_over(judge).
budget(tokens, 8000).
budget(cents, 20).

+!review(Job, Draft, Order, Text, Report)[source(buyer)]
   <- -draft(Job, _);
      +draft(Job, Draft);
      .concat("Proposal: ", Order, "\n", Text, "\nFound: ", Report, Question);
      !work(Job, Question).

+!hand_over(Job, _, Id, Args) : .member(verdict(Verdict), Args) & .member(reason(Reason), Args) & draft(Job, Draft)
   <- !note(Job, result(Id, ok("handed over")));
      .print("says ", Verdict, ": ", Reason);
      .send(buyer, tell, judged(Job, Draft, Verdict, Reason)).

// The plans that all assistants have. A plan above comes before one of these.
{ include("assistant.asl") }
