// Calls for proposals: what contract_net.asl and iterated_contract_net.asl have in common. Programs include those.

{ include("$whimbrel/work.asl") }

// ---- Initiator

// Offers: terms offer(Offer, Agent) of the agents that propose in time.
+!conversation::call(C, Protocol, Task, Names, Ms, Offers)
   <- ?conversation::agents(Names, Bidders);
      for (.member(Bidder, Bidders)) {
         !conversation::begin(C, Bidder, Protocol);
         !conversation::ask(C, Bidder, cfp, Task, Ms)
      };
      !conversation::gather(C, Bidders, Ms, Offers).

+!conversation::gather(C, Bidders, Ms, Offers)
   <- .wait(conversation::all_answered(C, Bidders), Ms, _);
      for (.member(Bidder, Bidders)) {
         !conversation::tick(C, Bidder)
      };
      .findall(offer(Offer, A), .member(A, Bidders) & conversation::offers(C, A, Offer), Offers).

conversation::offers(C, A, Offer)
   :- conversation::state(C, A, proposed) & conversation::last(C, A, propose, Offer).
conversation::all_answered(C, Bidders)
   :- not (.member(A, Bidders) & conversation::state(C, A, called)).
conversation::all_done(C, Accepted)
   :- not (.member(offer(_, A), Accepted) & conversation::state(C, A, accepted)).

+!conversation::choose(_, [], []).
+!conversation::choose(Task, Offers, Accepted)
   : not .relevant_plans({+!choose(Task, Offers, Accepted)}, [])
   <- !choose(Task, Offers, Accepted).
+!conversation::choose(_, Offers, [Best])
   <- .min(Offers, Best).

// Outcomes: done(Agent, Offer, Result) or failed(Agent, Offer, Reason) for each accepted offer.
+!conversation::award(C, Task, Offers, Accepted, Outcomes)
   : conversation::result_ms(Ms)
   <- for (.member(Offer, Offers)) {
         !conversation::decide(C, Task, Offer, Accepted, Ms)
      };
      .wait(conversation::all_done(C, Accepted), Ms, _);
      for (.member(offer(_, A), Accepted)) {
         !conversation::tick(C, A)
      };
      .findall(Outcome, .member(Won, Accepted) & conversation::outcome(C, Won, Outcome), Outcomes).

+!conversation::decide(C, Task, offer(Offer, A), Accepted, Ms)
   : .member(offer(Offer, A), Accepted)
   <- !conversation::ask(C, A, accept_proposal, Task, Ms).
+!conversation::decide(C, Task, offer(_, A), _, _)
   <- !conversation::say(C, A, reject_proposal, Task, []).

conversation::outcome(C, offer(Offer, A), done(A, Offer, Result))
   :- conversation::over(C, A, done) & conversation::last(C, A, inform, Result).
conversation::outcome(C, offer(Offer, A), failed(A, Offer, silent))
   :- conversation::over(C, A, silent).
conversation::outcome(C, offer(Offer, A), failed(A, Offer, Reason))
   :- conversation::over(C, A, End) & End \== done & End \== silent & conversation::last(C, A, _, Reason).

// ---- Participant

+!conversation::bid(C, From, Task)
   <- !propose_for(Task, Offer)[source(From)];
      +conversation::offered(C, From, Task, Offer);
      !conversation::next_number(N);
      .concat(C, "/", From, "/", N, Id);
      !conversation::say(C, From, propose, Offer, [reply_with(Id)]).
-!conversation::bid(C, From, _)[error(refuse), error_msg(Why)]
   <- !conversation::say(C, From, refuse, Why, []).
-!conversation::bid(_, _, _)[error(protocol), error_msg(Why)]
   <- .log(warning, Why).
-!conversation::bid(C, From, Task)
   <- !conversation::say(C, From, refuse, Task, []).

+!conversation::do_task(C, From)
   : conversation::offered(C, From, Task, _)[source(self)]
   <- .abolish(conversation::offered(C, From, _, _));
      !conversation::carry_out(C, From, Task, agreed).

+!conversation::lose_task(C, From)
   : conversation::offered(C, From, Task, Offer)[source(self)]
   <- .abolish(conversation::offered(C, From, _, _));
      !conversation::lose(Task, Offer).
+!conversation::lose(Task, Offer)
   : not .relevant_plans({+!rejected(Task, Offer)}, [])
   <- !rejected(Task, Offer).
+!conversation::lose(_, _).
