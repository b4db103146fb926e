!go.
+!go <- P =.. [mylab,{+!built(X)},k(X),{ .print("in built ",X) }]; .print(P); .add_plan(P); !built(2); .plan_label(Q,mylab); Q =.. [_,T,C,B]; .print(T," ",C," ",B); !built(9); .stopMAS.
-!built(X)[error(E)] <- .print(X," ",E).
k(2). k(3).
