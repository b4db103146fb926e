// Station: begins and ends the day. It knows the number of agents, but not their subscriptions.

everybody_is_ready :- .count(ready(_), 10).
all_have_reported :- .count(done(_), 3).
all_are_home :- .count(home(_), 3).

!open.

+!open
   <- .wait(everybody_is_ready, 10000);
      .print("Everybody is ready.");
      // On one node, and on two, all subscriptions are known now. With three nodes, the news take separate ways: wait.
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
