// Climate: prints the range of all temperatures, and the average of the kitchen.

all_are_in :- .count(reading(_, _), 11).

!start.

+!start
   <- .subscribe(temperature);
      .my_name(Me);
      .send(station, tell, ready(Me));
      .wait(all_are_in, 10000);
      .findall(Value, reading(_, Value), Values);
      .findall(Value, reading(kitchen, Value), Kitchen);
      .print("11 readings, from ", math.min(Values), " to ", math.max(Values), ", in the kitchen ", math.mean(Kitchen));
      .send(station, tell, done(Me)).
