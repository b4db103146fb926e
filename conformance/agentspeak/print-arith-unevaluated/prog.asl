!go.
+!go <- .print(X+1); .print(2*X-1); .print(-X); .print(X/Y); .print(X mod 2," ",X div 2," ",X**2); .print((1+2)*X); .print(f(X+1,1+1)); .print([1+1,X*2]);
  .print(math.abs(X)," ",math.max(X,2)); Z = X+1; .print(Z); X = 4; .print(Z," ",Z+1); W = Z*2; .print(W); .stopMAS.
