!go.
+!go <- !reach; .print(reached); .stopMAS.
+!reach <- .print(working); +done(1); .print(no).
+done(_) <- .succeed_goal(reach); .print(x).
