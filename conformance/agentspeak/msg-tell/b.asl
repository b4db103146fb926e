+x(V)[source(S)] <- .print("x ",V," ",S).
+y(V)[source(S)] <- .print("y ",V," ",S).
+~z[source(S)] <- .print("not z ",S).
+stop <- .wait(30); .count(x(_),N); .print(N); .stopMAS.
