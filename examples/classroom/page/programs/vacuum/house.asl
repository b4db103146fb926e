// The environment is an agent, too: actions of the cleaner arrive as requests, are
// done, and change what the cleaner sees.
at(hall).
dirty(hall).
dirty(kitchen).

sees(at(Room))    :- at(Room).
sees(dirty(Room)) :- at(Room) & dirty(Room).

!begin.
+!begin <- !show.

// The answer ends an action: inform when it is done, failure when it cannot be.
+!kqml_received(Agent, request, Action, Id)
   <- !do(Action);
      !show;
      .send(Agent, inform, done(Action), Id).
-!kqml_received(Agent, request, Action, Id)
   <- .send(Agent, failure, impossible(Action), Id).

+!do(go(Room)) <- .wait(400); -+at(Room).
+!do(suck) : at(Room) & dirty(Room) <- .wait(600); -dirty(Room).

// The cleaner gets the whole of what it sees now.
+!show
   <- .findall(P, sees(P), Percepts);
      .send(cleaner, percept, Percepts).
