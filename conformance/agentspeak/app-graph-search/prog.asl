edge(a,b,4). edge(a,c,1). edge(c,b,2). edge(b,d,5). edge(c,d,8). edge(d,e,3).
path(X,X,[X],0,_).
path(X,Y,[X|P],C,V) :- edge(X,Z,K) & not .member(Z,V) & path(Z,Y,P,D,[Z|V]) & C = K+D.
!go.
+!go <- .findall(p(C,P),path(a,e,P,C,[a]),L); .sort(L,S); .print(S); .min(L,M); M = p(Cost,Path); .print(Cost," ",Path); .stopMAS.
