!go.
+!go <- L = [5,3,9,1,7,3]; !bubble(L,B); .print(B); !msort(L,M); .print(M); !insert_all(L,[],I); .print(I); .stopMAS.
+!bubble(L,R) <- !pass(L,P,F); if (F == true) { !bubble(P,R2); R3 = R2 } else { R3 = P }; R = R3.
+!pass([X],[X],false).
+!pass([A,B|T],[B|R],true) : A > B <- !pass([A|T],R,_).
+!pass([A|T],[A|R],F) <- !pass(T,R,F).
+!msort([],[]).
+!msort([X],[X]).
+!msort(L,S) <- !split(L,A,B); !msort(A,X); !msort(B,Y); !merge(X,Y,S).
+!split([],[],[]).
+!split([X],[X],[]).
+!split([X,Y|T],[X|A],[Y|B]) <- !split(T,A,B).
+!merge([],L,L).
+!merge(L,[],L).
+!merge([A|T],[B|U],[A|R]) : A <= B <- !merge(T,[B|U],R).
+!merge(L,[B|U],[B|R]) <- !merge(L,U,R).
+!insert_all([],S,S).
+!insert_all([H|T],A,S) <- !ins(H,A,B); !insert_all(T,B,S).
+!ins(X,[],[X]).
+!ins(X,[H|T],[X,H|T]) : X <= H.
+!ins(X,[H|T],[H|R]) <- !ins(X,T,R).
