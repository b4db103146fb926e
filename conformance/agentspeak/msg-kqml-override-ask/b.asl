secret(1). public(2).
+!kqml_received(S,askOne,secret(_),M) <- .print("asked by ",S); .send(S,tell,secret(hidden),M).
