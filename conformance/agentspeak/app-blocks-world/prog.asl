on(a,table). on(b,a). on(c,b).
clear(X) :- not on(_,X).
clear(table).
tower([X]) :- on(X,table).
tower([X,Y|T]) :- on(X,Y) & tower([Y|T]).
!go.
+!go <- ?tower([c|T]); .print([c|T]); !put(a,c); .findall(on(X,Y),on(X,Y),L); .sort(L,S); .print(S); .stopMAS.
+!put(X,Y) : on(X,Y).
+!put(X,Y) <- !free(X); !free(Y); !move(X,Y).
+!free(X) : clear(X).
+!free(X) : on(Y,X) <- !free(Y); !move(Y,table).
+!move(X,Y) : on(X,Z) & clear(X) <- -on(X,Z); +on(X,Y); .print("move ",X," to ",Y).
