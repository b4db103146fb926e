@k +!k : true & x <- foo(1);
   bar.
!go.
+!go <- .plan_label(P,k); P =.. [_,_,_,B]; .get_src_info(B,S); .print(S); .stopMAS.
