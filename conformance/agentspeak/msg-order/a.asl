!s.
+!s <- for (.range(I,1,20)) { .send(b,tell,n(I)) }; .send(b,tell,last).
