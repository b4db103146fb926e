!go.
+!go <- .nth(0,[a,b,c],X); .print(X); .nth(I,[a,b,c],c); .print(I); .findall(p(J,Y),.nth(J,[x,y],Y),L); .print(L); !t(5); !t(-1); if (.nth(K,[a],z)) { .print(bad) } else { .print(none) }; .nth(1,[a,[b,c]],[H|_]); .print(H); .stopMAS.
+!t(N) <- .nth(N,[a,b],X); .print(X).
-!t(N)[error_msg(M)] <- .print(M).
