!go.
+!go <- !!forever; .wait(40); .succeed_goal(forever); .wait(40); .print(end); .stopMAS.
+!forever <: false <- .print(body). {
  +x <- .print(x).
}
