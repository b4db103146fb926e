forks(p1,1,2). forks(p2,2,3). forks(p3,1,3).
!think(3).
+!think(0) <- .print("finished").
+!think(N) : .my_name(Me) & forks(Me,I,J) <- +todo(N); .send(table,achieve,take(I,J)).
+!eat : .my_name(Me) & forks(Me,I,J) & todo(N) <- .print("eating ",N); .send(table,achieve,release(I,J)); -todo(N); !think(N-1).
