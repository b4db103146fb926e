!go.
+!go <- !a(1); .stopMAS.
+!a(X) <- !b(X+1); .print(end).
@lb +!b(Y) <- .intention(I,S,K,current); for (.member(im(L,T,B,U),K)) { .print(T) }; .nth(0,K,im(L0,_,_,_)); L0 =.. [N|_]; .print(x).
-!b(_) <- .intention(_,_,K,current); .length(K,Z); .print(Z).
