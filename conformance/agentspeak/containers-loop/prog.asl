!go.
+!go <- .map.create(M); for (.member(W,[the,cat,the,dog,the])) { .map.get(M,W,N,0); .map.put(M,W,N+1) }; .print(M); .set.create(S); for (.range(I,1,5)) { .set.add(S,I mod 3) }; .print(S); .queue.create(Q); .queue.add(Q,1); !work(Q,8). 
+!work(Q,Max) : .queue.head(Q,X) & X < Max <- .queue.remove(Q,_); .print(X); .queue.add(Q,X*2); !work(Q,Max).
+!work(_,_) <- .print(done); .stopMAS.
