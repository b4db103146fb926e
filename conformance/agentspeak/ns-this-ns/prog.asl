{ begin namespace(k) }
+!run <- .my_name(Me); .send(Me,tell,this_ns::msg(1)); .send(Me,tell,msg(2)); .send(Me,achieve,::job(3)); .wait(50).
+msg(X) <- .print("k::msg ",X).
+!job(X) <- .print("k::job ",X).
{ end }
!go.
+msg(X) <- .print("default msg ",X).
+!go <- !k::run; .stopMAS.
