!go.
+!go <- !job; .wait(100); .stopMAS.
+!job <- .print(j1); .wait(20); !sub; .print(j2).
+!sub <- .print(s1).
^!job[state(S)] <- .print("job ",S).
^!sub[state(S)] <- .print("sub ",S).
