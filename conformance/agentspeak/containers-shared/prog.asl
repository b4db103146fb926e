!go.
+!go <- .map.create(M); +store(M); .map.put(M,a,1); !use; ?store(X); .map.get(X,b,V); .print(V); Y = M; .map.put(Y,c,3); .length(M,N); .print(N); !fill(M); .map.get(M,d,W); .print(W); .stopMAS.
+!use : store(S) <- .map.put(S,b,2).
+!fill(S) <- .map.put(S,d,4).
