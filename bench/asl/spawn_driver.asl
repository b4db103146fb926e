!create.

+!create : agents(N) & hold_ms(Hold)
  <- .print("MEASURE before");
     .wait(Hold);
     .nano_time(Start);
     for (.range(I, 1, N)) {
         .concat("idle", I, Name);
         .create_agent(Name, "spawn_idle.asl")
     };
     .nano_time(End);
     .print("RESULT bench=spawn seconds=", (End-Start)/1000000000);
     .print("MEASURE after");
     .wait(Hold);
     .stopMAS.
