// Opens and closes the day. It knows how many agents there are, but not which of them listens to what.

everybody_is_ready :- .count(ready(_), 10).
all_have_reported  :- .count(done(_), 3).
all_are_home       :- .count(home(_), 3).

!open.

+!open
   <- .wait(everybody_is_ready, 10000);
      .print("Everybody is ready.");
      // On one node, and on two, that is known for sure. Each of three hears from each other by itself: give them a moment.
      .wait(200);
      .publish(control, tell, go);
      .wait(all_have_reported, 10000);
      .multicast(operators, tell, shift_over);
      .wait(all_are_home, 10000);
      .print("The day is over.");
      .stopMAS.

-!open[error_msg(Why)]
   <- .print("The day was broken off: ", Why);
      .stopMAS(0, 1).
