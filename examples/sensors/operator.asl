// Operator: one of three that take turns.

!start.

+!start
   <- .join_group(operators);
      .my_name(Me);
      .send(station, tell, ready(Me)).

+!check(Room, Value)[source(Guard)]
   <- .print("on my way to the ", Room);
      .my_name(Me);
      .send(Guard, tell, checked(Room, Value, Me)).

+shift_over[source(Station)]
   <- .my_name(Me);
      .send(Station, tell, home(Me)).
