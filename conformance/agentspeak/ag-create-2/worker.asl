!init.
+!init <- .my_name(N); .print("I am ",N).
+!hello[source(S)] <- .send(S,tell,hi).
