// FIPA recruiting (SC00034): an agent has a recruiter pass a question on to agents that it finds. They answer the agent
// itself, by the protocol of request.asl.
//
//     { include("$whimbrel/recruiting.asl") }
//
// Initiator: !recruit(Recruiter, Service, Question, Deadline_ms, Answers). Answers are terms answer(Agent, Result). The
//     goal fails as work.asl says.
// Participant: it passes the question on to agents that offer the service (.df_search). A plan
//     +!find_agents(Service, Agents)[source(Agent)] finds others.

{ include("$whimbrel/proxy.asl") }
{ include("$whimbrel/request.asl") }
{ include("$whimbrel/tables/recruiting.asl") }

+!recruit(Recruiter, Service, Question, Ms, Answers)
   <- !conversation::open(Inner);
      .concat(Inner, "/0", Id);
      +conversation::expects(Inner, "fipa-request", request, Id);
      !conversation::proxy(Service, Question, Map);
      .map.put(Map, "conversation", Inner);
      .map.put(Map, "reply_with", Id);
      .map.freeze(Map, Content);
      !conversation::question("fipa-recruiting", Recruiter, proxy, Content, Ms, Names);
      ?conversation::agents(Names, Agents);
      .wait(conversation::all_over(Inner, Agents), Ms, _);
      -conversation::expects(Inner, "fipa-request", request, Id);
      .findall(
         answer(A, Result),
         .member(A, Agents) & conversation::over(Inner, A, done) & conversation::last(Inner, A, _, Result),
         Answers
      ).

conversation::all_over(C, Agents) :- not (.member(A, Agents) & not conversation::over(C, A, _)).

conversation::reacts("fipa-recruiting", participant, asked).
+!conversation::react("fipa-recruiting", participant, asked, C, From, Content, _)
   <- !conversation::recruits(C, From, Content, Question, Agents);
      !conversation::pass_on(C, From, Content, Question, Agents).

+!conversation::pass_on(_, _, _, _, none).
+!conversation::pass_on(C, From, Content, Question, Agents)
   : .map.get(Content, "conversation", Inner) & .map.get(Content, "reply_with", Id)
   <- .send(
         Agents,
         request,
         Question,
         [protocol("fipa-request"), conversation(Inner), reply_with(Id), reply_to(From)]
      );
      .findall(Name, .member(A, Agents) & .concat(A, "", Name), Names);
      !conversation::say(C, From, inform, Names, []).
-!conversation::pass_on(C, From, _, _, _)[error(receiver_not_found), error_msg(Why)]
   <- !conversation::say(C, From, failure, Why, []).
