b(1). b(5).
!go.
+!go <- R = { big(X) :- b(X) & X > 3 }; .print(R); +R; ?big(Y); .print(Y); .relevant_rules(big(_),L); .print(L); .stopMAS.
