l(X). l(Y).
!g.
+!g <- .count(l(1), A); .print(A); +m(X); +m(Y); .count(m(1), B); .print(B); .count(m(_), C); .print(C); +k(1,Z); +k(1,Z); .count(k(_,_), D); .print(D); -m(2); .count(m(1), E); .print(E); .wait(50); .stopMAS.
+m(X) <- .print(event(m)).
-m(X) <- .print(gone(m)).
