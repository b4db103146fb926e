// FIPA query (SC00027): an agent asks another whether something is so, or which thing it is.
//
//     { include("$whimbrel/query.asl") }
//
// Initiator: !query_if(Agent, Proposition, Deadline_ms, Result), whose result is true or false, and
//     !query_ref(Agent, Pattern, Deadline_ms, Result), whose result is the first answer to ?Pattern. They fail as
//     work.asl says.
// Participant: it answers from its beliefs, its rules, and its plans for +?Pattern. A plan +!agree_to(Question) decides
//     before; its failure refuses. A question that is text, a number, a list or a map is refused.

{ include("$whimbrel/work.asl") }
{ include("$whimbrel/tables/query.asl") }

+!query_if(Agent, Proposition, Ms, Result)
   <- !conversation::question("fipa-query", Agent, query_if, Proposition, Ms, Result).
+!query_ref(Agent, Pattern, Ms, Result)
   <- !conversation::question("fipa-query", Agent, query_ref, Pattern, Ms, Result).

// Text and maps are neither so nor not so.
conversation::no_question(null, "nothing").
conversation::no_question(Content, "a text") :- .string(Content).
conversation::no_question(Content, "a number") :- .number(Content).
conversation::no_question(Content, "a list") :- .list(Content).
conversation::no_question(Content, "a map") :- .type(Content, map).
conversation::no_question(Content, "a set") :- .type(Content, set).

conversation::reacts("fipa-query", participant, asked).
+!conversation::react("fipa-query", participant, asked, C, From, Content, _)
   : conversation::no_question(Content, Kind)
   <- .concat("the question is ", Kind, ": ask for a literal, such as raining or price(tea, P)", Why);
      !conversation::say(C, From, refuse, Why, []).
+!conversation::react("fipa-query", participant, asked, C, From, Question, _)
   : .relevant_plans({+!agree_to(Question)}, [])
   <- !conversation::reply_to(C, From, Question).
+!conversation::react("fipa-query", participant, asked, C, From, Question, _)
   <- !agree_to(Question)[source(From)];
      !conversation::say(C, From, agree, Question, []);
      !conversation::reply_to(C, From, Question).
-!conversation::react("fipa-query", participant, asked, C, From, _, _)[error_msg(Why)]
   <- !conversation::say(C, From, refuse, Why, []).

+!conversation::reply_to(C, From, Question)
   : conversation::last(C, From, query_if, _)
   <- !conversation::find_out(Question, Answer);
      !conversation::say(C, From, inform, Answer, []).
+!conversation::reply_to(C, From, Question)
   <- ?Question;
      .remove_source_annot(Question, Answer);
      !conversation::say(C, From, inform, Answer, []).
-!conversation::reply_to(C, From, _)[error(Error), error_msg(Why)]
   : Error \== protocol
   <- !conversation::say(C, From, failure, Why, []).

+!conversation::find_out(Question, Answer)
   <- ?Question;
      Answer = true.
-!conversation::find_out(_, false)[error(test_goal_failed)].
