// Work for other agents: what the files of most protocols have in common. Programs include those.
//
// A program that does work for others may have these plans:
//
//     +!perform(Action, Result)[source(Agent)]    does what an agent asked for; a failure is answered `failure`
//     +!agree_to(Action)[source(Agent)]           decides before; with this plan, `agree` or `refuse` is sent first
//
// .fail_with(refuse, Why) in one of them refuses, until the agent has agreed. An initiator's goal fails with
// error(End), where End is the end of the conversation, such as refused, failed or silent, and error_msg(Reason).

{ include("$whimbrel/conversation.asl") }

// Time to wait for the result of accepted work, in milliseconds.
conversation::result_ms(10000).

// ---- Initiators: one agent is asked, and its answer awaited

+!conversation::question(Protocol, Name, Performative, Content, Ms, Result)
   <- ?conversation::agent(Name, Agent);
      !conversation::open(C);
      !conversation::begin(C, Agent, Protocol);
      !conversation::ask(C, Agent, Performative, Content, Ms);
      .wait(conversation::over(C, Agent, _), Ms, _);
      !conversation::stop_waiting(C, Agent);
      !conversation::settle(C, Agent, Result).

// The agent that agreed is told that nobody waits any longer.
+!conversation::stop_waiting(C, Agent) : conversation::over(C, Agent, _).
+!conversation::stop_waiting(C, Agent)
   <- !conversation::tick(C, Agent);
      !conversation::cancel(C, Agent).

+!conversation::cancel(C, Agent) : conversation::over(C, Agent, _).
+!conversation::cancel(C, Agent)
   <- !conversation::ask(C, Agent, cancel, null, 10000).

+!conversation::settle(C, Agent, Result)
   : conversation::over(C, Agent, done) & conversation::last(C, Agent, _, Result).
+!conversation::settle(C, Agent, Result)
   : conversation::over(C, Agent, End) & End \== done & conversation::last(C, Agent, _, Reason)
   <- .fail_with(End, Reason).
+!conversation::settle(C, Agent, _)
   : not conversation::over(C, Agent, done)
   <- .concat(Agent, " did not answer in time", Why);
      .fail_with(silent, Why).

// ---- Participants: an agent does what it was asked for

+!conversation::serve(C, From, Action)
   : .relevant_plans({+!agree_to(Action)}, [])
   <- !conversation::carry_out(C, From, Action, asked).
+!conversation::serve(C, From, Action)
   <- !agree_to(Action)[source(From)];
      !conversation::say(C, From, agree, Action, []);
      !conversation::carry_out(C, From, Action, agreed).
-!conversation::serve(C, From, _)[error(_), error_msg(Why)]
   <- !conversation::say(C, From, refuse, Why, []).

// Stage: asked, or agreed if the agent can no longer refuse.
+!conversation::carry_out(C, From, Action, _)
   <- !perform(Action, Result)[source(From)];
      !conversation::say(C, From, inform, Result, []).
-!conversation::carry_out(C, From, Action, Stage)[error(Error), error_msg(Why)]
   <- !conversation::give_up(C, From, Action, Stage, Error, Why).

+!conversation::give_up(C, From, _, asked, refuse, Why)
   <- !conversation::say(C, From, refuse, Why, []).
+!conversation::give_up(C, From, Action, asked, _, _)
   : .relevant_plans({+!perform(Action, _)}, [])
   <- !conversation::say(C, From, refuse, "there is no plan for it", []).
+!conversation::give_up(C, From, _, _, protocol, Why)
   <- .log(warning, Why).
+!conversation::give_up(C, From, _, _, _, Why)
   <- !conversation::say(C, From, failure, Why, []).

// The cancel meta-protocol: the work is dropped, and that is confirmed.
conversation::reacts(_, participant, cancelling).
+!conversation::react(_, participant, cancelling, C, From, _, _)
   <- .drop_intention(conversation::serve(C, From, _));
      .drop_intention(conversation::serve_when(C, From, _, _));
      .drop_intention(conversation::carry_out(C, From, _, _));
      .drop_intention(conversation::bid(C, From, _));
      .abolish(conversation::offered(C, From, _, _));
      !conversation::say(C, From, inform, null, []).
