recipe(tea,{ .print(boil); .print(pour) }).
!go.
+!go <- ?recipe(tea,B); B; .print(end); +todo({ .print(later) }); for (todo(X)) { X }; .stopMAS.
