p. p(1). p(1,2). ~p(1). ns::p(1).
!go.
+!go <- .count(p,A); .count(p(_),B); .count(p(_,_),C); .count(~p(_),D); .count(ns::p(_),E); .print(A,B,C,D,E); .abolish(p(_)); .count(p,A2); .count(p(_),B2); .count(p(_,_),C2); .print(A2,B2,C2); .stopMAS.
