// Questions that others pass on: what brokering.asl and recruiting.asl have in common. Programs include those.

{ include("$whimbrel/work.asl") }

// Content of a proxy, as in all languages.
+!conversation::proxy(Service, Question, Map)
   <- .concat(Service, "", Name);
      .map.put(Map, "service", Name);
      .map.put(Map, "performative", "request");
      .map.put(Map, "content", Question).

// Agrees to a proxy, and finds agents. Agents is none if the proxy is refused or cancelled, or there is no agent.
+!conversation::recruits(C, From, Content, Question, Agents)
   : .map.get(Content, "service", Service) & .map.get(Content, "performative", "request")
   & .map.get(Content, "content", Question)
   <- !conversation::say(C, From, agree, Content, []);
      !conversation::find(Service, From, Names);
      ?conversation::agents(Names, Found);
      !conversation::at_most(Content, Found, Chosen);
      !conversation::some(C, From, Service, Chosen, Agents).
+!conversation::recruits(C, From, _, none, none)
   <- !conversation::say(C, From, refuse, "expected a service, the performative request, and content", []).

+!conversation::find(Service, From, Agents)
   : not .relevant_plans({+!find_agents(Service, Agents)}, [])
   <- !find_agents(Service, Agents)[source(From)].
+!conversation::find(Service, _, Agents) <- .df_search(Service, Agents).
-!conversation::find(_, _, []).

// A proxy may limit the number of agents.
+!conversation::at_most(Content, Found, Chosen)
   : .map.get(Content, "max", Max) & .number(Max) & .length(Found) > Max
   & .prefix(Chosen, Found) & .length(Chosen) == Max.
+!conversation::at_most(_, Found, Found).

+!conversation::some(C, From, _, _, none)
   : not conversation::state(C, From, agreed).
+!conversation::some(C, From, Service, [], none)
   <- .concat("no agent offers ", Service, Why);
      !conversation::say(C, From, failure, Why, []).
+!conversation::some(_, _, _, Agents, Agents).
