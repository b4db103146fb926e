@p1 +!m(1) : true & true <- a.
@p2 +!m(X) : X > 1 <- b(X).
!go.
+!go <- .findall(LF,.relevant_plan({+!m(1)},P) & P =.. [L|_] & L =.. [_,LF|_],Ls); .print(Ls); .relevant_plan({+!m(7)},Q); Q =.. [_,T,C,B]; .print(T," ",C," ",B); if (.relevant_plan({+!none},_)) { .print(bad) } else { .print(none) }; .stopMAS.
