m::x(1).
!go.
+!go <- .namespace_set_prop(m,owner,bob); .namespace_get_prop(m,owner,O); .print(O); .namespace_get_prop(m,color,C,red); .print(C); if (.namespace(m)) { .print(yes) }; if (.namespace(zzz)) { .print(bad) } else { .print(no) }; .setof(N,.namespace(N),L); .print(L); .stopMAS.
