!s.
+!s <- .send(b,askHow,{+!make(_,_)},L); .length(L,N); .print(N); .add_plan(L,b,begin); !make(cake,2); .send(b,askHow,"+!none",L2); .print(L2); .stopMAS.
