val(5).
+!show <- ?val(X); .print("val ",X).
