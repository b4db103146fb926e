even(0).
even(N) :- N > 0 & odd(N-1).
odd(N) :- N > 0 & even(N-1).
!go.
+!go <- if (even(10)) { .print(even10) }; if (odd(7)) { .print(odd7) }; if (even(7)) { .print(bad) } else { .print(no) }; .findall(X,.range(X,1,6) & even(X),L); .print(L); .stopMAS.
