s(ann,math,8). s(bob,math,6). s(ann,bio,9). s(bob,bio,7). s(cy,math,10).
!go.
+!go <- .setof(N,s(N,_,_),Ns); for (.member(N,Ns)) { .findall(G,s(N,_,G),Gs); .print(N," ",Gs," ",math.average(Gs)) }; .setof(g(G,N),s(N,math,G),R); .reverse(R,[g(_,Best)|_]); .print(Best); .stopMAS.
