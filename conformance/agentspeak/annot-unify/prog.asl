!go.
+!go <- if (p = p[a]) { .print(1) }; if (p[a] = p) { .print(bad) } else { .print(2) }; if (p[X] = p[a]) { .print(X) }; if (p[A|R] = p[a,b,c]) { .print(A,R) };
  if (p[|R2] = p[x,y]) { .print(R2) }; if (p[|R3] = p) { .print(R3) }; V[k] = p(1)[k,m]; .print(V); W = p(2)[z]; .print(W," ",W[y]); if (p[a,b] = p[b,a,c]) { .print(3) };
  if (f(p[a]) = f(p[a,b])) { .print(4) }; if (p[s(1)] = p[s(Y)]) { .print(Y) }; if (p[a] = p[|T]) { .print(T) }; .stopMAS.
