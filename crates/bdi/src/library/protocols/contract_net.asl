// FIPA contract net (SC00029): a task goes to the best of several bidders.
//
//     { include("$whimbrel/contract_net.asl") }
//
// Initiator: !contract_net(Task, Bidders, Deadline_ms, Outcomes). Outcomes has done(Agent, Offer, Result) or
//     failed(Agent, Offer, Reason) for each accepted offer; it is [] if there was none. A plan
//     +!choose(Task, Offers, Accepted) selects among terms offer(Offer, Agent); without one, the least offer wins.
// Participant: a plan +!propose_for(Task, Offer) makes an offer; its failure refuses. +!perform(Task, Result) does the
//     task. +!rejected(Task, Offer) is optional.

{ include("$whimbrel/work.asl") }
{ include("$whimbrel/bidding.asl") }
{ include("$whimbrel/tables/contract_net.asl") }

+!contract_net(Task, Bidders, Ms, Outcomes)
   <- !conversation::open(C);
      !conversation::call(C, "fipa-contract-net", Task, Bidders, Ms, Offers);
      !conversation::choose(Task, Offers, Accepted);
      !conversation::award(C, Task, Offers, Accepted, Outcomes).

conversation::reacts("fipa-contract-net", participant, called).
+!conversation::react("fipa-contract-net", participant, called, C, From, Task, _)
   <- !conversation::bid(C, From, Task).

conversation::reacts("fipa-contract-net", participant, accepted).
+!conversation::react("fipa-contract-net", participant, accepted, C, From, _, _)
   <- !conversation::do_task(C, From).

conversation::reacts("fipa-contract-net", participant, rejected).
+!conversation::react("fipa-contract-net", participant, rejected, C, From, _, _)
   <- !conversation::lose_task(C, From).
