words(["the","quick","fox"]).
long(W) :- words(L) & .member(W,L) & .length(W,N) & N > 3.
joined(S) :- words([A,B|_]) & .concat(A," ",B,S).
top(X) :- .findall(N,score(_,N),L) & .max(L,M) & score(X,M).
score(a,3). score(b,9). score(c,4).
!go.
+!go <- ?long(W); .print(W); ?joined(S); .print(S); ?top(X); .print(X); .stopMAS.
