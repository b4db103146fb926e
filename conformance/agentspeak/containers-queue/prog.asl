!go.
+!go <- .queue.create(Q); .queue.add(Q,a); .queue.add(Q,b); .queue.add_all(Q,[c,d]); .queue.head(Q,H); .print(H); .queue.remove(Q,R); .print(R); .queue.to_list(Q,L); .print(L); .length(Q,N); .print(N); .queue.create(P,priority); .queue.add_all(P,[5,1,3]); .queue.remove(P,X); .queue.remove(P,Y); .print(X,Y);
  .queue.copy(Q,C); .queue.clear(Q); .queue.to_list(C,L2); .print(L2); if (.queue.remove(Q,_)) { .print(bad) } else { .print(empty) }; if (.empty(Q)) { .print(yes) }; .stopMAS.
