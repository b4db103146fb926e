!s.
+!s <- .send(b,propose,offer(10)); .send(b,request,[1,2]); .send(b,inform,"text"); .send(b,ping,5); .send(b,unknown_one,x).
