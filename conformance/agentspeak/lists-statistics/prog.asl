!go.
+!go <- L = [4,8,15,16,23,42]; .print(math.sum(L)," ",math.mean(L)," ",math.median(L)); .max(L,M); .min(L,N); .print(M-N); .findall(X*X,.member(X,L) & X mod 2 == 0,Q); .print(Q); .findall(X,.member(X,L) & X > math.mean(L),R); .print(R); .length(L,Z); .print(math.sum(L)/Z); .stopMAS.
