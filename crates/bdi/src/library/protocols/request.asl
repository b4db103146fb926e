// FIPA request (SC00026): an agent asks another to do something, and waits for the result.
//
//     { include("$whimbrel/request.asl") }
//
// Initiator: !request(Agent, Action, Deadline_ms, Result). It fails as work.asl says.
// Participant: plans +!perform(Action, Result), and +!agree_to(Action) if it agrees first.

{ include("$whimbrel/work.asl") }
{ include("$whimbrel/tables/request.asl") }

+!request(Agent, Action, Ms, Result)
   <- !conversation::question("fipa-request", Agent, request, Action, Ms, Result).

conversation::reacts("fipa-request", participant, requested).
+!conversation::react("fipa-request", participant, requested, C, From, Action, _)
   <- !conversation::serve(C, From, Action).
