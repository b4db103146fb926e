!go.
+!go <- !a; .print(end); .stopMAS.
+!a <- !b; .print(a2). {
  +!b <- .fail.
  -!b <- .print("local handler").
}
-!b <- .print("global handler").
