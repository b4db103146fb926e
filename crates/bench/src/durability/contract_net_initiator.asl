// Gives away one job after the other: calls for proposals, takes the cheapest when all have come, and waits until it is done.
!join.
+!join : participants(P)
  <- .findall(Name, .range(K, 1, P) & .concat("participant", K, Name), Names);
     !terms(Names, []).

+!terms([], Crew) <- +crew(Crew); .send(collector, achieve, ready).
+!terms([Name|Names], Crew) <- .term2string(Agent, Name); !terms(Names, [Agent|Crew]).

+!begin <- !call(1).

+!call(K) : conversations(N) & K > N <- .send(collector, achieve, finished).
+!call(K) : crew(Crew)
  <- .nano_time(Start);
     +called(K, Start);
     +offers(0);
     .send(Crew, cfp, job(K)).

@offer[atomic]
+!kqml_received(A, propose, offer(K, Price), _) : offers(Count) & participants(P)
  <- +offer(Price, A);
     -+offers(Count+1);
     if (Count+1 == P) { !award(K) }.

+!award(K)
  <- .findall(offer(Price, A), offer(Price, A), Offers);
     .min(Offers, offer(_, Winner));
     .findall(A, offer(_, A) & A \== Winner, Losers);
     .abolish(offer(_, _));
     .abolish(offers(_));
     .send(Losers, reject_proposal, job(K));
     .send(Winner, accept_proposal, job(K)).

+!kqml_received(_, inform, done(K), _) : called(K, Start)
  <- .nano_time(End);
     -called(K, Start);
     .print("SAMPLE us=", (End-Start)/1000);
     !!call(K+1).
