says("hello world").
!go.
+!go <- ?says(S); .print(S); !say("hi"); !say("other"); !say(hi); .stopMAS.
+!say("hi") <- .print("string hi").
+!say(hi) <- .print("atom hi").
+!say(X) : .string(X) <- .print("string ",X).
