fib(0,0). fib(1,1).
fib(N,F) :- N > 1 & fib(N-1,A) & fib(N-2,B) & F = A+B.
+!compute(N)[source(C)] : fib(N,F) <- .send(C,tell,result(N,F)).
+done[source(A)] : .count(done[source(_)],2) <- .wait(40); .stopMAS.
