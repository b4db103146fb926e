!s.
+!s <- .send(b,askOne,v(_),R1) |&| .send(c,askOne,v(_),R2); .print(both); !ask(b,v(_)) |&| !ask(c,w(_)); .findall(X,got(X),L); .sort(L,S); .print(S); .stopMAS.
+!ask(A,Q) <- .send(A,askOne,Q,R); +answer(R).
+answer(v(X)) <- +got(X).
+answer(w(X)) <- +got(X).
