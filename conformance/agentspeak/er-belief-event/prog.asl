!go.
+!go <- !!watch(7); .wait(30); ++ev(1); .wait(30); ++ev(2); .wait(30); +stop; .wait(50); .print(end); .stopMAS.
+!watch(K) <: stop <- .print("watching ",K). {
  +ev(X) <- .print("seen ",X," by ",K).
}
+ev(X) <- .print("root ",X).
