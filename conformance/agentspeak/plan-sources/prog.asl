!go.
+!go <- .add_plan({ @z +!z <- .print(z) },bob); .plan_label(P,z); .print(P); .remove_plan(z); .plan_label(_,z); .print(still); .remove_plan(z,bob); if (.plan_label(_,z)) { .print(bad) } else { .print(removed) }; .stopMAS.
