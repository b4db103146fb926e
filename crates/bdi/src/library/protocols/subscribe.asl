// FIPA subscribe (SC00035): an agent is informed of something whenever it changes, until it cancels.
//
//     { include("$whimbrel/subscribe.asl") }
//
// Initiator: !subscribe(Agent, Topic, Deadline_ms, Subscription) begins; a plan +!told(Topic, News)[source(Agent)] gets
//     each piece of news. !unsubscribe(Subscription) ends it. A plan +!subscription_ended(Topic, Agent, Reason) is
//     optional.
// Participant: plans +!agree_to(Topic), whose failure refuses; without one, every agent may subscribe. !announce(Topic,
//     News) informs all subscribers of the topic. A plan +!subscribed(Topic, Agent) is optional.

{ include("$whimbrel/work.asl") }
{ include("$whimbrel/tables/subscribe.asl") }

// ---- Initiator

+!subscribe(Name, Topic, Ms, subscription(C, Agent, Topic))
   <- ?conversation::agent(Name, Agent);
      !conversation::open(C);
      +conversation::subscribed_to(C, Agent, Topic);
      !conversation::begin(C, Agent, "fipa-subscribe");
      !conversation::ask(C, Agent, subscribe, Topic, Ms);
      .wait(not conversation::state(C, Agent, subscribed), Ms, _);
      !conversation::tick(C, Agent);
      !conversation::is_subscribed(C, Agent).

+!conversation::is_subscribed(C, Agent) : conversation::state(C, Agent, active).
+!conversation::is_subscribed(C, Agent)
   <- .abolish(conversation::subscribed_to(C, Agent, _));
      !conversation::settle(C, Agent, _).

+!unsubscribe(subscription(C, Agent, _))
   <- .abolish(conversation::subscribed_to(C, Agent, _));
      !conversation::cancel(C, Agent);
      .wait(conversation::over(C, Agent, _), 10000, _).

conversation::reacts("fipa-subscribe", initiator, active).
+!conversation::react("fipa-subscribe", initiator, active, C, From, News, inform)
   : conversation::subscribed_to(C, From, Topic)[source(self)]
   <- !told(Topic, News)[source(From)].
+!conversation::react("fipa-subscribe", initiator, active, _, _, _, _).

conversation::reacts("fipa-subscribe", initiator, failed).
+!conversation::react("fipa-subscribe", initiator, failed, C, From, Reason, _)
   : conversation::subscribed_to(C, From, Topic)[source(self)]
   <- .abolish(conversation::subscribed_to(C, From, _));
      !conversation::report_end(Topic, From, Reason).
+!conversation::react("fipa-subscribe", initiator, failed, _, _, _, _).

+!conversation::report_end(Topic, From, Reason)
   : not .relevant_plans({+!subscription_ended(Topic, From, Reason)}, [])
   <- !subscription_ended(Topic, From, Reason).
+!conversation::report_end(_, _, _).

// ---- Participant

conversation::reacts("fipa-subscribe", participant, subscribed).
+!conversation::react("fipa-subscribe", participant, subscribed, C, From, Topic, _)
   <- !conversation::admit(Topic)[source(From)];
      +conversation::subscriber(C, From, Topic);
      !conversation::say(C, From, agree, Topic, []);
      !conversation::greet(Topic, From).
-!conversation::react("fipa-subscribe", participant, subscribed, C, From, _, _)[error(Error), error_msg(Why)]
   : Error \== protocol
   <- !conversation::say(C, From, refuse, Why, []).

+!conversation::admit(Topic)[source(From)]
   : not .relevant_plans({+!agree_to(Topic)}, [])
   <- !agree_to(Topic)[source(From)].
+!conversation::admit(_).

+!conversation::greet(Topic, From)
   : not .relevant_plans({+!subscribed(Topic, From)}, [])
   <- !subscribed(Topic, From).
+!conversation::greet(_, _).

+!announce(Topic, News)
   <- for (conversation::subscriber(C, To, Topic)[source(self)]) {
         !conversation::announce_to(C, To, News)
      }.

// A subscription that is over is forgotten.
+!conversation::announce_to(C, To, News)
   : conversation::state(C, To, active)
   <- !conversation::say(C, To, inform, News, []).
+!conversation::announce_to(C, To, _)
   <- .abolish(conversation::subscriber(C, To, _)).
