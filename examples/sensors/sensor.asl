// Sensor: measures on request, and publishes its readings without knowing the subscribers.

!start.

+!start
   <- .subscribe(control);
      .my_name(Me);
      .send(station, tell, ready(Me)).

+go : measures(What) & readings(List) & .my_name(Me)
   <- for (.member(Value, List)) {
         .publish(What, tell, reading(Me, Value))
      }.
