!s.
+!s <- .df_register("vend"); .wait(60); .send(c,tell,go).
