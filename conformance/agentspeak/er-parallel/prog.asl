!go.
+!go <- !!job(1); !!job(2); .wait(40); +done(2); .wait(40); +done(1); .wait(40); .stopMAS.
+!job(X) <: done(X) <- .print("job ",X); !loop. {
  +!loop <- .wait(5); !loop.
}
^!job(X)[state(achieved)] <- .print("achieved ",X).
