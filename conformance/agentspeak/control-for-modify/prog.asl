q(1). q(2). q(3).
!go.
+!go <- for (q(X)) { -q(X); +p(X*10) }; .count(q(_),N); .findall(Y,p(Y),L); .print(N," ",L); .stopMAS.
