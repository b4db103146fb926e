// Clock: closes the market when both customers have bought, and the intruder has made its attempts.

!wait.

+!wait : .count(deal(_, _), 2) & gone(_)
   <- .wait(500);
      .all_names(Names);
      if (.member(bank, Names)) { .print("the market closes; the bank is still there") };
      .stopMAS.

+!wait <- .wait(50); !wait.
