// Measures when it is told to, and publishes what it measures. Who listens is not its concern.

!start.

+!start
   <- .subscribe(control);
      .my_name(Me);
      .send(station, tell, ready(Me)).

+go : measures(What) & readings(List) & .my_name(Me)
   <- for ( .member(Value, List) ) {
         .publish(What, tell, reading(Me, Value))
      }.
