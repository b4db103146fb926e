// Initiator of the contract net: calls for proposals, waits for answers or the deadline, and awards the job.

// Time for proposals, in milliseconds.
deadline(800).

// All have answered when no called agent is missing.
all_answered(Job) :- called(Job, Agents) & not (.member(A, Agents) & not answered(A, Job)).
answered(A, Job) :- proposal(A, Job, _) | refusal(A, Job).

// The directory reports each present and future contractor: provider(Agent, Service). All are here when every agent
// but the initiator and the directory is one.
everybody_is_here
   :- .my_name(Me) & .all_names(All)
   & not (.member(A, All) & A \== Me & A \== df & not provider(A, "contractor")).

!start.

+!start
   <- .df_subscribe("contractor");
      .wait(everybody_is_here, 30000);
      // One job after the other: the winner of the first may be too busy for the second.
      !contract(paint(fence));
      !contract(mend(roof));
      !contract(build(bridge));
      !contract(fly(to_the_moon));
      .print("All jobs are settled.");
      .stopMAS.

-!start[error_msg(Why)]
   <- .print("It did not work out: ", Why);
      .stopMAS(0, 1).

// Course of one contract.
+!contract(Job) : deadline(Ms)
   <- .findall(A, provider(A, "contractor"), Found);
      .sort(Found, Agents);
      +called(Job, Agents);
      .print("Who will do ", Job, "? I ask ", Agents);
      .send(Agents, cfp, Job);
      .wait(all_answered(Job), Ms, _);  // with a third argument, a timeout is no failure
      .findall(offer(Price, A), proposal(A, Job, Price), Offers);
      .findall(A, refusal(A, Job), Refused);
      .findall(A, .member(A, Agents) & not answered(A, Job), Silent);
      -called(Job, Agents);  // later offers are too late
      !say("  offers  ", Offers);
      !say("  refused ", Refused);
      !say("  silent  ", Silent);
      !award(Job, Offers);
      .abolish(proposal(_, Job, _));
      .abolish(refusal(_, Job)).

+!award(Job, [])
   <- .print("  Nobody wants to do ", Job).

+!award(Job, Offers)
   <- .min(Offers, offer(Price, Winner));
      .print("  ", Winner, " gets ", Job, " for ", Price);
      for (.member(offer(_, Loser), Offers) & Loser \== Winner) {
         .send(Loser, reject_proposal, Job)
      };
      .send(Winner, accept_proposal, Job);
      .wait(done(Job)[source(Winner)], 10000);
      .print("  ", Winner, " reports: ", Job, " is done").

-!award(Job, _)[error(wait_timeout)]
   <- .print("  The winner of ", Job, " did not deliver").

+!say(_, []).
+!say(What, List)
   <- .sort(List, Sorted);
      .print(What, Sorted).

// Replies, by performative. An offer counts only while its call is open.
+!kqml_received(A, propose, offer(Job, Price), _) : called(Job, _)
   <- +proposal(A, Job, Price).
+!kqml_received(A, propose, offer(Job, _), _)
   <- .send(A, reject_proposal, Job).
+!kqml_received(A, refuse, Job, _) : called(Job, _)
   <- +refusal(A, Job).
+!kqml_received(_, refuse, _, _).
+!kqml_received(A, inform, done(Job), _)
   <- +done(Job)[source(A)].
