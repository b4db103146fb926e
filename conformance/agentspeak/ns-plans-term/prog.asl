!go.
+!go <- .add_plan({ +!m::hello <- .print("m::hello") }); !m::hello; .relevant_plans({ +!m::hello },L); .length(L,N); .print(N); .findall(X,.member(X,[m::a,b]),K); .length(K,M); .print(M); .stopMAS.
