!go.
+!go <- !a; .stopMAS.
+!a <- !x; !y(1); !y(2). {
  +!x <- .print("inner x").
  +!y(1) <- .print("inner y").
}
+!x <- .print("outer x").
+!y(N) <- .print("outer y ",N).
