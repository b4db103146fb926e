!go.
+!go <- .fork(and,{ .print(a1); .print(a2) },{ .print(b1) }); .print(joined); .fork(or,{ .wait(500) },{ .print(quick) }); .print(end); .stopMAS.
