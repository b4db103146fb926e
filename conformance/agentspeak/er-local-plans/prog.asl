!go.
+!go <- !a(5); !b; .stopMAS.
+!h <- .print("global h").
+!a(X) <- .print("in a"); !h; !k(2). {
  +!h <- .print("local h ",X).
  +!k(Y) <- .print("local k ",X," ",Y); !h.
}
+!b <- !h.
