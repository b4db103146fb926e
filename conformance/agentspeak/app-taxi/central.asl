!s.
+!s <- .wait(30); !serve(8); !serve(1); .stopMAS.
+!serve(P) <- .send([t1,t2],askOne,at(_),L); .findall(d(math.abs(X-P),T),.member(at(X)[source(T)],L),D); .min(D,d(K,Best)); .print("client at ",P," gets ",Best," distance ",K); .send(Best,achieve,drive(P)); .wait(40).
