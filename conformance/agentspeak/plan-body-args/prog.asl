!go.
+!go <- !twice({ .print(hi) }); !ifb(true,{ .print(yes) },{ .print(no) }); !ifb(false,{ .print(yes) },{ .print(no) }); X = 4; !twice({ .print(X) }); .stopMAS.
+!twice(B) <- B; B.
+!ifb(true,A,_) <- A.
+!ifb(false,_,B) <- B.
