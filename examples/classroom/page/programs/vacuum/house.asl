// The environment is an agent, too: the cleaner's actions arrive as requests, are
// done, and change the cleaner's percepts.
at(hall).
dirty(hall).
dirty(kitchen).

sees(at(Room)) :- at(Room).
sees(dirty(Room)) :- at(Room) & dirty(Room).

!begin.
+!begin <- !show.

// The answer ends an action: inform if it is done, failure if it is impossible.
+!kqml_received(Agent, request, Action, Id)
   <- !do(Action);
      !show;
      .send(Agent, inform, done(Action), Id).
-!kqml_received(Agent, request, Action, Id)
   <- .send(Agent, failure, impossible(Action), Id).

+!do(go(Room)) <- .wait(400); -+at(Room).
+!do(suck) : at(Room) & dirty(Room) <- .wait(600); -dirty(Room).

// The cleaner gets all its present percepts.
+!show
   <- .findall(P, sees(P), Percepts);
      .send(cleaner, percept, Percepts).
