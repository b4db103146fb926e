// FIPA brokering (SC00033): an agent has a broker put a question to agents that it finds, and return their answers.
//
//     { include("$whimbrel/brokering.asl") }
//
// Initiator: !broker(Broker, Service, Question, Deadline_ms, Answers). Answers are terms answer(Agent, Result). The goal
//     fails as work.asl says.
// Participant: it asks agents that offer the service (.df_search) by the protocol of request.asl. A plan
//     +!find_agents(Service, Agents)[source(Agent)] finds others.

{ include("$whimbrel/proxy.asl") }
{ include("$whimbrel/request.asl") }
{ include("$whimbrel/tables/brokering.asl") }

// Time that agents have to answer a broker, in milliseconds.
conversation::broker_ms(5000).

+!broker(Broker, Service, Question, Ms, Answers)
   <- !conversation::proxy(Service, Question, Map);
      .map.freeze(Map, Content);
      !conversation::question("fipa-brokering", Broker, proxy, Content, Ms, Maps);
      .findall(answer(A, Result), .member(M, Maps) & conversation::proxy_answer(M, A, Result), Answers).

conversation::proxy_answer(M, A, Result)
   :- .map.get(M, "agent", Name) & conversation::agent(Name, A) & .map.get(M, "content", Result).

conversation::reacts("fipa-brokering", participant, asked).
+!conversation::react("fipa-brokering", participant, asked, C, From, Content, _)
   <- !conversation::recruits(C, From, Content, Question, Agents);
      !conversation::broker_to(C, From, Question, Agents).

+!conversation::broker_to(_, _, _, none).
+!conversation::broker_to(C, From, Question, Agents)
   : conversation::broker_ms(Ms)
   <- for (.member(A, Agents)) {
         !!conversation::broker_one(C, A, Question, Ms)
      };
      .findall(Name, .member(A, Agents) & .concat(A, "", Name), Names);
      !conversation::say(C, From, inform, Names, []);
      .wait(conversation::all_brokered(C, Agents), Ms + 1000, _);
      !conversation::hand_over(C, From, Agents).

conversation::all_brokered(C, Agents) :- not (.member(A, Agents) & not conversation::brokered(C, A, _)).

+!conversation::broker_one(C, A, Question, Ms)
   <- !request(A, Question, Ms, Result);
      +conversation::brokered(C, A, done(Result)).
-!conversation::broker_one(C, A, _, _) <- +conversation::brokered(C, A, failed).

// The initiator may have cancelled meanwhile.
+!conversation::hand_over(C, From, _)
   : not conversation::state(C, From, forwarded)
   <- .abolish(conversation::brokered(C, _, _)).
+!conversation::hand_over(C, From, Agents)
   : .member(B, Agents) & conversation::brokered(C, B, done(_))
   <- .queue.create(Answers);
      for (.member(A, Agents) & conversation::brokered(C, A, done(Result))) {
         !conversation::add_answer(Answers, A, Result)
      };
      .abolish(conversation::brokered(C, _, _));
      .queue.to_list(Answers, List);
      !conversation::say(C, From, inform, List, []).
+!conversation::hand_over(C, From, _)
   <- .abolish(conversation::brokered(C, _, _));
      !conversation::say(C, From, failure, "nobody answered", []).

+!conversation::add_answer(Answers, A, Result)
   <- .concat(A, "", Name);
      .map.put(Map, "agent", Name);
      .map.put(Map, "content", Result);
      .map.freeze(Map, Answer);
      .queue.add(Answers, Answer).
