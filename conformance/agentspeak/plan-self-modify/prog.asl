@c0 +!count <- .print(zero); .remove_plan(c0); .add_plan({ @c1 +!count <- .print(one) }).
!go.
+!go <- !count; !count; !count; .stopMAS.
