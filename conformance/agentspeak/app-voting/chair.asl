!s.
+!s <- .wait(30); .send([v1,v2,v3],askOne,vote(_),L); .findall(X,.member(vote(X),L),Vs); .setof(r(N,O),.member(O,Vs) & .count(.member(O,Vs),N),R); .reverse(R,[r(N1,W)|_]); .print("winner ",W," with ",N1); .stopMAS.
