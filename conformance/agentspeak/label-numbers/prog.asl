!go.
@first +!a <- true.
+!b <- .print(b).
@p__3 +!c <- .print(c).
+!d <- .print(d).
+!go <- for (.member(G,[a,b,c,d,go])) { .relevant_plans({+!G},_,L); .print(G,L) }; .add_plan("+!e <- .print(e)."); .relevant_plans({+!e},_,L1); .print(L1);
  .add_plan("@lll +!f <- .print(e)."); .add_plan("+!f <- .print(e2).");.relevant_plans({+!f},_,L2); .print(L2); .add_plan({+!g <- .print(gg)}); .relevant_plans({+!g},_,L3); .print(L3); .stopMAS.
