// Windsock: subscribes to the wind only. The publications of one agent arrive in order.

!start.

+!start
   <- .subscribe(wind);
      .my_name(Me);
      .send(station, tell, ready(Me)).

+reading(roof, Value) <- .print("wind: ", Value); !look(Value).

+!look(14) : .my_name(Me) <- .send(station, tell, done(Me)).
+!look(_).
