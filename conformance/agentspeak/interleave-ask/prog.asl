!a. !b.
+!a <- .print(a1); .send(prog,askOne,k(_),R); .print(R); .print(a2).
k(1).
+!b <- for (.range(I,1,12)) { .wait(3) }; .print(b_end); .stopMAS.
