data(5).
!start.
+!start <- .print("included started").
+!hello <- ?data(X); .print("hello ",X).
