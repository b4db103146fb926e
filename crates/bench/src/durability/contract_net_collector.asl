// Has all initiators begin at once when everybody is ready, and takes the time until the last of them has finished.
ready(0).
finished(0).

@ready[atomic]
+!ready : ready(K) & everybody(All)
  <- -+ready(K+1);
     if (K+1 == All) { !!begin }.

+!begin : initiators(I)
  <- .nano_time(Start);
     +started(Start);
     for (.range(K, 1, I)) {
         .concat("initiator", K, Name);
         .send(Name, achieve, begin)
     }.

@finished[atomic]
+!finished : finished(K) & initiators(I)
  <- -+finished(K+1);
     if (K+1 == I) { !report }.

+!report : started(Start)
  <- .nano_time(End);
     .print("RESULT seconds=", (End-Start)/1000000000);
     .stopMAS.
