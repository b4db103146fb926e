trusted(bob). trusted(self).
!go.
+!go <- +says(rain)[source(bob)]; +says(sun)[source(eve)]; +says(snow); .findall(X,says(X)[source(S)] & trusted(S),L); .print(L); .stopMAS.
+says(X)[source(S)] : trusted(S) <- .print("believe ",X," from ",S).
+says(X)[source(S)] : not trusted(S) <- .print("ignore ",X," from ",S).
