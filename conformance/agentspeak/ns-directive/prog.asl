{ begin namespace(lib) }
v(1).
+!run <- ?v(X); .print(X); +w(2); !sub; +default::z(3); ?default::base(B); .print(B).
+!sub <- .print(sub); ?w(W); .print(W).
+w(X) <- .print("lib w ",X).
{ end }
base(9).
!go.
+w(X) <- .print("default w ",X).
+!go <- !lib::run; ?z(Z); .print(Z); if (v(_)) { .print(bad) } else { .print(hidden) }; ?lib::v(V); .print(V); +w(7); .stopMAS.
