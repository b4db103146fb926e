// FIPA request-when (SC00028): an agent asks another to do something as soon as a condition holds.
//
//     { include("$whimbrel/request_when.asl") }
//
// Initiator: !request_when(Agent, Action, Condition, Deadline_ms, Result) waits for the agreement until the deadline,
//     then for the result, however long that takes. It fails as work.asl says.
// Participant: plans +!perform(Action, Result), and +!agree_to(when(Action, Condition)), whose failure refuses. The
//     condition is one of its beliefs or rules. A request of another form, as agents in other languages send it, is
//     performed at once: its plan waits itself.

{ include("$whimbrel/work.asl") }
{ include("$whimbrel/tables/request_when.asl") }

+!request_when(Name, Action, Condition, Ms, Result)
   <- ?conversation::agent(Name, Agent);
      !conversation::open(C);
      !conversation::begin(C, Agent, "fipa-request-when");
      !conversation::ask(C, Agent, request_when, when(Action, Condition), Ms);
      .wait(not conversation::state(C, Agent, requested), Ms, _);
      !conversation::tick(C, Agent);
      .wait(conversation::over(C, Agent, _));
      !conversation::settle(C, Agent, Result).

conversation::reacts("fipa-request-when", participant, requested).
+!conversation::react("fipa-request-when", participant, requested, C, From, when(Action, Condition), _)
   <- !conversation::consent(when(Action, Condition))[source(From)];
      !conversation::say(C, From, agree, when(Action, Condition), []);
      !conversation::serve_when(C, From, Action, Condition).
+!conversation::react("fipa-request-when", participant, requested, C, From, Action, _)
   <- !conversation::consent(Action)[source(From)];
      !conversation::say(C, From, agree, Action, []);
      !conversation::carry_out(C, From, Action, agreed).
-!conversation::react("fipa-request-when", participant, requested, C, From, _, _)[error_msg(Why)]
   <- !conversation::say(C, From, refuse, Why, []).

+!conversation::consent(What)[source(From)]
   : not .relevant_plans({+!agree_to(What)}, [])
   <- !agree_to(What)[source(From)].
+!conversation::consent(_).

+!conversation::serve_when(C, From, Action, Condition)
   <- .wait(Condition);
      !conversation::carry_out(C, From, Action, agreed).
