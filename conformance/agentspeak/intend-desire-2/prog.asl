!go.
+!go <- !!w(1); if (.desire(w(1))) { .print(d1) }; if (.intend(w(1))) { .print(i0) } else { .print(not_yet) }; .wait(20); if (.intend(w(X))) { .print(i,X) }; if (.desire(w(_))) { .print(d2) };
  if (.intend(go)) { .print(self) }; if (.intend(nothing)) { .print(bad) } else { .print(none) }; .findall(Z,.intend(w(Z)),L); .print(L); !!w(2); .wait(10); .findall(Z,.intend(w(Z)),L2); .sort(L2,L3); .print(L3); .stopMAS.
+!w(X) <- .wait(500).
