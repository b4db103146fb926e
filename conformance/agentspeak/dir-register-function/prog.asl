{ register_function("my.inc",1,"inc") }
{ register_function("my.add3",3,"add3") }
{ register_function("my.fact",1,"fact") }
inc(X,Y) :- Y = X+1.
add3(A,B,C,R) :- R = A+B+C.
fact(0,1).
fact(N,F) :- N > 0 & F = N*my.fact(N-1).
!go.
+!go <- .print(my.inc(4)); X = my.add3(1,2,3)*my.inc(1); .print(X); .print(my.fact(6)); if (my.inc(2) == 3) { .print(eq) }; +v(my.inc(9)); ?v(V); .print(V); .stopMAS.
