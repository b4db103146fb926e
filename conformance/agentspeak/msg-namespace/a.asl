!s.
+!s <- .send(b,tell,n::p(1)); .send(b,tell,p(2)); .send(b,achieve,n::g(3)); .wait(50); .send(b,askOne,n::p(_),n::R); .print(n::R); .send(b,achieve,fin).
