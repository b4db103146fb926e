@d[atomic] +done(N) : .count(done(_),3) & not fin <- +fin; .print(all); .wait(20); .stopMAS.
+done(_).
