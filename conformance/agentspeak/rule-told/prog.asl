fact(1). fact(-1).
!s.
+!s <- .send(prog, tell, { rule(X) :- fact(X) & X > 0 }); .wait(20);
       ?rule(Z); .print(Z); .findall(U, rule(U), L); .print(L);
       .send(prog, tell, [{ other(X) :- rule(X) }, fact(7)]); .wait(20); .findall(U, other(U), L2); .length(L2, N); .print(N); .stopMAS.
