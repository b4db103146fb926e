act(pickup,[handempty,clear],[holding],[handempty,clear]).
act(putdown,[holding],[handempty,clear],[holding]).
act(stack,[holding,target],[stacked,handempty],[holding]).
sat([],_).
sat([H|T],S) :- .member(H,S) & sat(T,S).
apply(S,Add,Del,R) :- .difference(S,Del,M) & .union(M,Add,R).
plan(S,G,_,[]) :- sat(G,S).
plan(S,G,D,[A|P]) :- D > 0 & act(A,Pre,Add,Del) & sat(Pre,S) & apply(S,Add,Del,R) & plan(R,G,D-1,P).
!go.
+!go <- ?plan([handempty,clear,target],[stacked],3,P); .print(P); if (plan([target],[stacked],3,_)) { .print(bad) } else { .print("no plan") }; .stopMAS.
