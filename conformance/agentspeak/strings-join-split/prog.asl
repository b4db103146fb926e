!go.
+!go <- !join(["a","b","c"],", ",S); .print(S); !chars("hello",C); .print(C); !upper_first("whimbrel",U); .print(U); !repeat("ab",3,R); .print(R); !count("banana","a",N); .print(N); .stopMAS.
+!join([X],_,X).
+!join([X|T],Sep,S) <- !join(T,Sep,R); .concat(X,Sep,R,S).
+!chars("",[]).
+!chars(S,[H|T]) <- .nth(0,S,H); .delete(0,S,R); !chars(R,T).
+!upper_first(S,U) <- .substring(H,S,0,1); .substring(T,S,1); .upper_case(H,HU); .concat(HU,T,U).
+!repeat(_,0,"").
+!repeat(S,N,R) <- !repeat(S,N-1,Q); .concat(S,Q,R).
+!count(S,P,N) <- .findall(X,.substring(P,S,X),L); .length(L,N).
