fast(1).
+?slow(X) <- .wait(300); X = 1.
