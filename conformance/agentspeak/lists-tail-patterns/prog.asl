!go.
+!go <- !len([a,b,c],N); .print(N); !last([1,2,3],L); .print(L); !zip([a,b],[1,2],Z); .print(Z); !flat([a,[b,[c]],d],F); .print(F); !evens([1,2,3,4],E); .print(E); .stopMAS.
+!len([],0).
+!len([_|T],N) <- !len(T,M); N = M+1.
+!last([X],X).
+!last([_|T],X) <- !last(T,X).
+!zip([],_,[]).
+!zip([A|T],[B|U],[p(A,B)|V]) <- !zip(T,U,V).
+!flat([],[]).
+!flat([H|T],F) : .list(H) <- !flat(H,A); !flat(T,B); .concat(A,B,F).
+!flat([H|T],[H|F]) <- !flat(T,F).
+!evens([],[]).
+!evens([H|T],[H|E]) : H mod 2 == 0 <- !evens(T,E).
+!evens([_|T],E) <- !evens(T,E).
