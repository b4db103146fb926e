// Bids for every job. Each one it has done makes the next one dearer, so that all get some.
done(0).
!join.
+!join <- .send(collector, achieve, ready).

+!kqml_received(Initiator, cfp, job(K), _) : done(N)
  <- .send(Initiator, propose, offer(K, 10+N)).

+!kqml_received(Initiator, accept_proposal, job(K), _) : done(N)
  <- -+done(N+1);
     .send(Initiator, inform, done(K)).

+!kqml_received(_, reject_proposal, _, _).
