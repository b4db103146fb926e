row(1,[1,2,3]). row(2,[4,5,6]).
!go.
cell(R,C,V) :- row(R,L) & .nth(C,L,V).
+!go <- ?cell(2,1,V); .print(V); .findall(V2,cell(_,0,V2),Col); .print(Col); .findall(L,row(_,L),M); .print(M); .findall(p(R,C),cell(R,C,X) & X mod 2 == 0,P); .print(P); .stopMAS.
