!go.
+!go <- .add_plan({ @k1 +!k(X) : X > 0 <- .print("k1 ",X) }); .add_plan({ @k2 +!k(X) <- .print("k2 ",X) }); !k(1); !k(-1); .remove_plan(k1); !k(1); .add_plan({ @k0 +!k(X) <- .print("k0 ",X) },self,begin); !k(5);
  .remove_plan([k0,k2]); if (.relevant_plans({+!k(_)},[])) { .print(none) }; .stopMAS.
