nat(0).
!go.
add(0,Y,Y).
add(X,Y,Z) :- X > 0 & add(X-1,Y+1,Z).
mul(0,_,0).
mul(X,Y,Z) :- X > 0 & mul(X-1,Y,W) & add(Y,W,Z).
+!go <- ?mul(12,13,Z); .print(Z); .stopMAS.
