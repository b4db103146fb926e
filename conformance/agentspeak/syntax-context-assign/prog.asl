base(10).
!go.
+!go : base(B) & X = B*2 & Y = [X,B] & .length(Y,N) & f(Q,W) = f(N,X) <- .print(B," ",X," ",Y," ",N," ",Q," ",W); .stopMAS.
