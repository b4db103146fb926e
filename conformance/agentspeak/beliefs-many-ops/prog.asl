!go.
+!go <- for (.range(I,1,300)) { +k(I mod 100,I) }; .count(k(_,_),N); .print(N); .count(k(5,_),M); .print(M); for (k(5,X)) { -k(5,X) }; .count(k(_,_),O); .print(O); .findall(X,k(7,X),L); .print(L); .abolish(k(_,_)); .count(k(_,_),P); .print(P); .stopMAS.
