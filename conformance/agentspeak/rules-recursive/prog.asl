parent(a,b). parent(b,c). parent(c,d). parent(a,e).
anc(X,Y) :- parent(X,Y).
anc(X,Z) :- parent(X,Y) & anc(Y,Z).
fact(0,1).
fact(N,F) :- N > 0 & fact(N-1,G) & F = N*G.
fib(0,0). fib(1,1).
fib(N,F) :- N > 1 & fib(N-1,A) & fib(N-2,B) & F = A+B.
!go.
+!go <- .findall(Y,anc(a,Y),L); .print(L); .findall(X,anc(X,d),L2); .print(L2); ?fact(10,F); .print(F); ?fib(12,G); .print(G); if (anc(d,a)) { .print(bad) } else { .print(no) }; .stopMAS.
