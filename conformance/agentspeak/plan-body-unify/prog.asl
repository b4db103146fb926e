!go.
+!go <- { A; R } = { a(1); !b; +c }; .print(A," ",R); { !X; R2 } = { !g(2); h }; .print(X," ",R2); { Z } = { one; two }; .print(Z); !count({ a; b; c; d },N); .print(N); { Q; W } = { single }; .print(Q," ",W); .stopMAS.
+!count({},0).
+!count({ _; T },N) <- !count(T,M); N = M+1.
