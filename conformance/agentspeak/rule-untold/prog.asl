q(3).
!s.
+!s <- .send(prog, tell, { r(X) :- q(X) }); .wait(20); .findall(K, r(K), L1); .print(L1);
       .send(prog, untell, { r(X) :- q(X) }); .wait(20); .findall(K, r(K), L2); .print(L2);
       +{ u(Y) :- q(Y) }; -{ u(Z) :- q(Z) }; .findall(K, u(K), L3); .print(L3); .stopMAS.
