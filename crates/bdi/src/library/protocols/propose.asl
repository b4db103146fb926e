// FIPA propose (SC00036): an agent proposes to do something itself, and another agent accepts or rejects that.
//
//     { include("$whimbrel/propose.asl") }
//
// Initiator: !propose(Agent, Action, Deadline_ms, Decision). Decision is accepted(Content) or rejected(Content). The
//     goal fails with error(silent) without an answer in time.
// Participant: a plan +!accept(Action)[source(Agent)]; its failure rejects.

{ include("$whimbrel/work.asl") }
{ include("$whimbrel/tables/propose.asl") }

+!propose(Name, Action, Ms, Decision)
   <- ?conversation::agent(Name, Agent);
      !conversation::open(C);
      !conversation::begin(C, Agent, "fipa-propose");
      !conversation::ask(C, Agent, propose, Action, Ms);
      .wait(conversation::over(C, Agent, _), Ms, _);
      !conversation::tick(C, Agent);
      !conversation::decision(C, Agent, Decision).

+!conversation::decision(C, Agent, accepted(Content))
   : conversation::over(C, Agent, accepted) & conversation::last(C, Agent, _, Content).
+!conversation::decision(C, Agent, rejected(Content))
   : conversation::over(C, Agent, rejected) & conversation::last(C, Agent, _, Content).
+!conversation::decision(C, Agent, _)
   <- !conversation::settle(C, Agent, _).

conversation::reacts("fipa-propose", participant, proposed).
+!conversation::react("fipa-propose", participant, proposed, C, From, Action, _)
   <- !accept(Action)[source(From)];
      !conversation::say(C, From, accept_proposal, Action, []).
-!conversation::react("fipa-propose", participant, proposed, C, From, _, _)[error(Error), error_msg(Why)]
   : Error \== protocol
   <- !conversation::say(C, From, reject_proposal, Why, []).
