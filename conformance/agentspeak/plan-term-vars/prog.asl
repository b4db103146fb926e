!go.
+!go <- X = 5; .add_plan({ +!pv <- .print("value ",X) }); !pv; Y = foo(X); .add_plan({ +!pw(Z) <- .print(Y," ",Z) }); !pw(1); G = mygoal; .add_plan({ +!G <- .print(dynamic) }); !mygoal; .stopMAS.
