// Guard: subscribes to the same readings as `climate`. Each that is too high is a job for one operator.

all_were_checked :- .count(checked(_, _, _), 3).

!start.

+!start
   <- .subscribe(temperature);
      .my_name(Me);
      .send(station, tell, ready(Me));
      .wait(all_were_checked, 10000);
      .findall(Operator, checked(_, _, Operator), Operators);
      .sort(Operators, Sorted);
      .print("3 alarms, checked by ", Sorted);
      .send(station, tell, done(Me)).

+reading(Room, Value) : Value > 60
   <- .anycast(operators, achieve, check(Room, Value)).
