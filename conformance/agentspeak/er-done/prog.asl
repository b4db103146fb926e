!go.
+!go <- !!cnt; .wait(30); ++tick(1); .wait(30); ++tick(2); .wait(50); ++tick(3); .wait(30); .print(end); .stopMAS.
+!cnt <: false <- .print(waiting). {
  +tick(N) : N < 2 <- .print(tick,N).
  +tick(N) <- .print(last,N); .done.
}
