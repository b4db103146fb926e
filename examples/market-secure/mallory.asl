// Intruder: tries to get the bank's coins by asking, by killing agents, and by stopping the platform.

!rob.

+!rob
   <- .print("your coins, please");
      .send(bank, achieve, pay(mallory, 1000));
      .wait({ +refused(bank, _) }, 5000);
      .kill_agent(bank);
      .send(clock, tell, gone(mallory));
      .stopMAS.

// Undelivered messages: the platform returns them with the reason.
+!kqml_received(ams, failure, [_, undelivered(Whom, Why)], _)
   <- .print("my message to the ", Whom, " was not delivered: ", Why);
      +refused(Whom, Why).
