!go.
+!go <- B = { .print(built); .print(again) }; .add_plan({ @nb +!made : true <- B }); !made; C = { k(X) & X > 1 }; G = dyn(5); .add_plan({ @nb2 +!G <- .print("dyn ok") }); !dyn(5); .concat("+!s",1," <- .print(s",1,").",S); .add_plan(S); !s1; .stopMAS.
k(2).
