{ begin namespace(priv,local) }
secret(42).
+!show <- ?secret(X); .print(X).
{ end }
+!use <- !priv::show; ?priv::secret(Y); .print(Y+1).
