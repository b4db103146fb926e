!go.
+!go <- X = math.abs(Y); .print(X); Y = -4; .print(X," ",X+1); Z = W*2; W = 5; .print(Z); V = math.max(A,B); A = 1; B = 2; .print(V); .print(.length(L)); L = [1,2]; .print(.length(L)); .stopMAS.
