app([],L,L).
app([H|T],L,[H|R]) :- app(T,L,R).
rev([],[]).
rev([H|T],R) :- rev(T,S) & app(S,[H],R).
mem(X,[X|_]).
mem(X,[_|T]) :- mem(X,T).
len([],0).
len([_|T],N) :- len(T,M) & N = M+1.
perm([],[]).
perm(L,[H|T]) :- .member(H,L) & .delete(H,L,R) & perm(R,T).
!go.
+!go <- ?app([1,2],[3],L); .print(L); .findall(f(A,B),app(A,B,[x,y]),L2); .print(L2); ?rev([1,2,3,4],R); .print(R); .findall(X,mem(X,[a,b,a]),L3); .print(L3); ?len([a,b,c],N); .print(N); .findall(P,perm([a,b,c],P),L4); .print(L4); .stopMAS.
