!go.
+!go <- .foreach(.member(X,[1,2]),{ .print(X) }); .if_then_else(1 < 2,{ .print(yes) },{ .print(no) }); .if_then_else(2 < 1,{ .print(yes) }); +z(0); .loop(z(N) & N < 2,{ .print(N); -+z(N+1) }); .stopMAS.
