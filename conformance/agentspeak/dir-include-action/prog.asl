!go.
+!go <- .include("x.asl"); .wait(20); !hello; .include("x.asl",other); .wait(20); !other::hello; ?other::data(D); .print(D); .stopMAS.
