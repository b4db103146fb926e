// FIPA iterated contract net (SC00030): a contract net in rounds, so that bidders improve their offers.
//
//     { include("$whimbrel/iterated_contract_net.asl") }
//
// Initiator: !iterated_contract_net(Task, Bidders, Deadline_ms, Outcomes), with outcomes as in contract_net.asl. The
//     deadline is that of a round. A plan +!next_call(Round, Task, Offers, NewTask) calls the bidders again, and decides
//     if it fails; without one, there are two rounds. A plan +!choose(Task, Offers, Accepted) selects.
// Participant: as in contract_net.asl. +!propose_for(Task, Offer) is pursued in each round.

{ include("$whimbrel/work.asl") }
{ include("$whimbrel/bidding.asl") }
{ include("$whimbrel/tables/iterated_contract_net.asl") }

+!iterated_contract_net(Task, Bidders, Ms, Outcomes)
   <- !conversation::open(C);
      !conversation::call(C, "fipa-iterated-contract-net", Task, Bidders, Ms, Offers);
      !conversation::rounds(1, C, Task, Offers, Ms, Last, LastTask);
      !conversation::choose(LastTask, Last, Accepted);
      !conversation::award(C, LastTask, Last, Accepted, Outcomes).

+!conversation::rounds(_, _, Task, [], _, [], Task).
+!conversation::rounds(Round, C, Task, Offers, Ms, Last, LastTask)
   <- !conversation::again(Round, Task, Offers, Next);
      !conversation::round_or_end(Next, Round, C, Task, Offers, Ms, Last, LastTask).

+!conversation::round_or_end(stop, _, _, Task, Offers, _, Offers, Task).
+!conversation::round_or_end(call(NewTask), Round, C, _, Offers, Ms, Last, LastTask)
   <- .findall(A, .member(offer(_, A), Offers), Bidders);
      for (.member(Bidder, Bidders)) {
         !conversation::ask(C, Bidder, cfp, NewTask, Ms)
      };
      !conversation::gather(C, Bidders, Ms, NewOffers);
      !conversation::rounds(Round + 1, C, NewTask, NewOffers, Ms, Last, LastTask).

+!conversation::again(Round, Task, Offers, call(NewTask))
   : not .relevant_plans({+!next_call(Round, Task, Offers, NewTask)}, [])
   <- !next_call(Round, Task, Offers, NewTask).
+!conversation::again(1, Task, _, call(Task))
   : .relevant_plans({+!next_call(_, _, _, _)}, []).
+!conversation::again(_, _, _, stop).
-!conversation::again(_, _, _, stop).

conversation::reacts("fipa-iterated-contract-net", participant, called).
+!conversation::react("fipa-iterated-contract-net", participant, called, C, From, Task, _)
   <- .abolish(conversation::offered(C, From, _, _));
      !conversation::bid(C, From, Task).

conversation::reacts("fipa-iterated-contract-net", participant, accepted).
+!conversation::react("fipa-iterated-contract-net", participant, accepted, C, From, _, _)
   <- !conversation::do_task(C, From).

conversation::reacts("fipa-iterated-contract-net", participant, rejected).
+!conversation::react("fipa-iterated-contract-net", participant, rejected, C, From, _, _)
   <- !conversation::lose_task(C, From).
