// Skeleton of an assistant: its model says what to do next, and these plans decide whether it is done.
//
// An assistant believes, in its own file:
//   brief(Text)          the task of its model
//   model(Agent)         the agent that asks the model
//   may(Tool)            a tool that its model may call; told by another agent, it permits nothing
//   hands_over(Tool)     the call by which its model gives the result
//   budget(Kind, Most)   tokens and cents that it may spend

{ include("tools.asl") }

steps_max(12).
spent(tokens, 0).
spent(cents, 0).

over(Kind, Spent, Most) :- budget(Kind, Most)[source(self)] & spent(Kind, Spent) & Spent >= Most.

// Memory: what was said about a job, in its order.
@noting[atomic]
+!note(Job, Turn) <- .count(turn(Job, _, _), N); +turn(Job, N, Turn).

+!work(Job, Text) <- !note(Job, asked(Text)); !think(Job, 1).

+!think(Job, _) : over(Kind, Spent, Most)
   <- .concat(Spent, " of ", Most, " ", Kind, " are spent: raise budget(", Kind, ", ..)", Why);
      !stop(Job, Why).
+!think(Job, Step) : steps_max(Max) & Step > Max
   <- .concat("no result after ", Max, " answers of the model", Why);
      !stop(Job, Why).
+!think(Job, Step) : brief(Brief) & model(Model)
   <- .findall(Tool, may(Tool) | hands_over(Tool), Tools);
      .findall(turn(N, Turn), turn(Job, N, Turn), Found);
      .sort(Found, Turns);
      ?budget(tokens, Most)[source(self)];
      ?spent(tokens, Spent);
      .send(Model, askOne, think(Brief, Tools, Most - Spent, Turns, _), think(_, _, _, _, answer(Act, Tokens, Cents)));
      !pay(tokens, Tokens);
      !pay(cents, Cents);
      !follow(Job, Step, Act).
-!think(Job, _)[error(_), error_msg(Why)] <- !stop(Job, Why).

@paying[atomic]
+!pay(Kind, Amount) <- ?spent(Kind, Before); -spent(Kind, Before); +spent(Kind, Before + Amount).

// Permissions: the model may say what it likes. Only what a plan permits is done.
+!follow(Job, Step, call(Id, Tool, Args)) : hands_over(Tool)
   <- !note(Job, called(Id, Tool, Args));
      !hand_over(Job, Step, Id, Args).
+!follow(Job, Step, call(Id, Tool, Args)) : may(Tool)[source(self)]
   <- .print("calls ", Tool);
      !note(Job, called(Id, Tool, Args));
      !use(Job, Tool, Args, Outcome);
      !note(Job, result(Id, Outcome));
      !think(Job, Step + 1).
+!follow(Job, Step, call(Id, Tool, Args))
   <- .print("may not call ", Tool, ": refused");
      !note(Job, called(Id, Tool, Args));
      !note(Job, result(Id, refused("you may not call this tool")));
      !think(Job, Step + 1).
+!follow(Job, Step, said(Text))
   <- !note(Job, said(Text));
      !note(Job, asked("Answer by a call of one of your tools."));
      !think(Job, Step + 1).
+!follow(Job, _, failed(Why)) <- !stop(Job, Why).

// The parts of a result are missing, or of another kind than agreed.
+!hand_over(Job, Step, Id, _)
   <- !note(Job, result(Id, refused("incomplete: give all parts, as described")));
      !think(Job, Step + 1).

// Nothing is lost: the job continues with its next step, when somebody asks for that.
+!stop(Job, Why)
   <- .print("stopped: ", Why);
      +stopped(Job);
      .send(buyer, tell, stopped(Job, Why)).

@resuming[atomic]
+!resume(Tokens, Cents)[source(desk)]
   <- !raise(tokens, Tokens);
      !raise(cents, Cents);
      for (stopped(Job)) {
         -stopped(Job);
         !!think(Job, 1)
      }.
+!raise(Kind, Extra) <- ?budget(Kind, Most); -budget(Kind, Most); +budget(Kind, Most + Extra).
