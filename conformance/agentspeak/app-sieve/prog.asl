!go.
+!go <- .findall(X,.range(X,2,50),L); !sieve(L,P); .print(P); .stopMAS.
+!sieve([],[]).
+!sieve([H|T],[H|R]) <- .findall(X,.member(X,T) & X mod H \== 0,F); !sieve(F,R).
