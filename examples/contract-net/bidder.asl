// Contractor that bids for jobs that it can do. Its prices come from the project file.

!register.
+!register <- .df_register("contractor").

// Each won job makes the next one 20 dearer: overtime.
bid(Job, Price) :- price(Job, P) & .count(won(_), N) & Price = P + 20 * N.

+!kqml_received(Initiator, cfp, Job, _) : bid(Job, Price)
   <- .send(Initiator, propose, offer(Job, Price)).
+!kqml_received(Initiator, cfp, Job, _)
   <- .send(Initiator, refuse, Job).

+!kqml_received(Initiator, accept_proposal, Job, _)
   <- +won(Job);
      .print("I do ", Job);
      .wait(50);
      .send(Initiator, inform, done(Job)).
+!kqml_received(_, reject_proposal, _, _).
