v(1). v(1.5). v("s"). v(a). v(f(x)). v([1]). v(~n).
!go.
+!go <- .findall(X,v(X) & .number(X),L1); .print(L1); .findall(X,v(X) & .string(X),L2); .print(L2); .findall(X,v(X) & .atom(X),L3); .print(L3); .findall(X,v(X) & .list(X),L4); .print(L4); if (v("s") & not v(s)) { .print(ok) }; if (v(1.0)) { .print(one) }; if (v(f(Y))) { .print(Y) }; if (v(~n)) { .print(neg) }; .stopMAS.
