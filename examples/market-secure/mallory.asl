// Wants the bank's coins: by asking, by force, and by pulling the plug.

!rob.

+!rob
   <- .print("your coins, please");
      .send(bank, achieve, pay(mallory, 1000));
      .wait({+refused(bank, _)}, 5000);
      .kill_agent(bank);
      .send(clock, tell, gone(mallory));
      .stopMAS.

// Undelivered messages: the platform says so, and why.
+!kqml_received(ams, failure, [_, undelivered(Whom, Why)], _)
   <- .print("my message to the ", Whom, " was not delivered: ", Why);
      +refused(Whom, Why).
