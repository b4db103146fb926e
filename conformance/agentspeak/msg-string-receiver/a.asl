!s.
+!s <- .send("b",tell,x(1)); B = b; .send(B,tell,x(2)); .concat("","b",S); .send(S,tell,x(3)); .send([b,"b"],tell,y).
