!go.
+!go <- +b(1)[p]; +b(1)[q]; +b(1)[p,q,r]; +b(1); +b(1)[source(other)]; ?b(1)[|A]; .print(A); .stopMAS.
+b(X)[|A] <- .print("event ",A).
