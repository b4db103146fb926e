!s.
+!s <- .send(b,tell,v("a string")); .send(b,tell,v([1,[2,x]])); .send(b,tell,v(f(a,g("q")))); .send(b,tell,v(1.5)); .send(b,tell,v(X)); .send(b,tell,v(2)[k(1),m]); .send(b,tell,'Quoted Atom'(1)); .send(b,tell,v({ !go; +x })); .send(b,tell,fin).
