fork(1). fork(2). fork(3).
meals(0).
@t[atomic] +!take(I,J)[source(P)] : fork(I) & fork(J) <- -fork(I); -fork(J); .send(P,achieve,eat).
+!take(I,J)[source(P)] <- .wait(fork(I) & fork(J)); !take(I,J)[source(P)].
@r[atomic] +!release(I,J)[source(P)] : meals(N) <- +fork(I); +fork(J); -+meals(N+1); if (N+1 == 9) { .print("all meals done"); !!end }.
+!end <- .wait(50); .stopMAS.
