{ include("m.asl",m) }
!go.
+!go <- !m::use; if (priv::secret(_)) { .print(bad) } else { .print(private) }; .stopMAS.
