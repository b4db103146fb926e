cost(p1,20). cost(p2,15).
+cfp(T)[source(A)] : .my_name(Me) & cost(Me,C) <- .send(A,bid,C).
+cfp(T)[source(A)] <- .send(A,refuse,T).
+!do(T)[source(A)] <- .print("doing ",T); .send(A,tell,done(T)).
