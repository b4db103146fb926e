queens(N,Q) :- .findall(X,.range(X,1,N),L) & place(L,[],Q).
place([],Q,Q).
place(L,P,Q) :- .member(X,L) & safe(X,1,P) & .delete([X],[],_) & rem(X,L,R) & place(R,[X|P],Q).
rem(X,[X|T],T).
rem(X,[Y|T],[Y|R]) :- X \== Y & rem(X,T,R).
safe(_,_,[]).
safe(X,D,[Y|T]) :- X \== Y+D & X \== Y-D & safe(X,D+1,T).
!go.
+!go <- ?queens(6,Q); .print(Q); .findall(S,queens(5,S),L); .length(L,N); .print(N); .stopMAS.
