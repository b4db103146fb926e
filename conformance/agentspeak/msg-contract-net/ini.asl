!start.
all_answered :- .count(offer(_,_),N) & .count(refusal(_),M) & N+M == 3.
+!start <- .wait(30); .broadcast(tell,cfp(task)); .wait(all_answered); .findall(o(C,A),offer(C,A),L); .sort(L,S); .print(S); S = [o(_,W)|_]; .print("winner ",W); .send(W,achieve,do(task)).
+!kqml_received(A,bid,C,_) <- +offer(C,A).
+!kqml_received(A,refuse,_,_) <- +refusal(A).
+done(T)[source(W)] <- .print(T," done by ",W); .stopMAS.
