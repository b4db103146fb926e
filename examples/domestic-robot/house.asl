// Environment: an ordinary agent. Actions of the others arrive as requests, are done or fail, and change the
// others' percepts.

at(base).     // the robot's place
hand(empty).  // the robot's load
fridge(closed).
stock(2).  // bottles in the fridge
glass(0).  // sips of lemonade in the owner's glass

// Percepts of each agent.
sees(robot, at(Place)) :- at(Place).
sees(robot, carries(Thing)) :- hand(Thing) & Thing \== empty.
sees(robot, stock(lemonade, N)) :- fridge(open) & stock(N).
sees(owner, glass(empty)) :- glass(0).
sees(owner, glass(lemonade)) :- glass(N) & N > 0.

!begin.
+!begin <- !show.

// Each action is a request. The answer ends it: inform if it is done, failure if it is not.
+!kqml_received(Agent, request, Action, Id)
   <- !do(Agent, Action);
      !show;
      .send(Agent, inform, done(Action), Id).
-!kqml_received(Agent, request, Action, Id)
   <- .send(Agent, failure, impossible(Action), Id).

// Effects of the actions. An action without an applicable plan is impossible.
+!do(robot, go(Place))
   <- .wait(30);
      -+at(Place).
+!do(robot, open(fridge)) : at(fridge) & fridge(closed)
   <- -+fridge(open).
+!do(robot, close(fridge)) : at(fridge) & fridge(open)
   <- -+fridge(closed).
+!do(robot, take(lemonade)) : at(fridge) & fridge(open) & hand(empty) & stock(N) & N > 0
   <- -+stock(N - 1);
      -+hand(lemonade).
+!do(robot, pour(lemonade)) : at(owner) & hand(lemonade) & glass(0)
   <- -+hand(empty);
      -+glass(3).
+!do(owner, sip) : glass(N) & N > 0
   <- -+glass(N - 1).
+!do(supermarket, deliver(lemonade, N)) : stock(S)
   <- -+stock(S + N).

// Each agent gets all its present percepts. New ones become +belief, removed ones -belief.
+!show
   <- for (.member(Agent, [robot, owner])) {
         .findall(P, sees(Agent, P), Percepts);
         .send(Agent, percept, Percepts)
      }.
