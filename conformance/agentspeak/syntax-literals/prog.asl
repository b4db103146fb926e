p. q(1). ~r(2). ~s. t(1,2)[a,b(c)]. u[x]. ns1::v(1). ns1::~w.
!go.
+!go <- ?p; ?q(A); ?~r(B); ?~s; ?t(C,D)[b(E)]; ?u[x]; ?ns1::v(F); ?ns1::~w; .print(A,B,C,D,E,F);
  if (~p) { .print(np) } else { .print(no_np) }; if (not p) { .print(notp) } else { .print(has_p) };
  if (r(_)) { .print(r) } else { .print(no_r) }; .print(~r(2)," ",t(1,2)[b(c),a]," ",u[x]," ",ns1::~w); .stopMAS.
