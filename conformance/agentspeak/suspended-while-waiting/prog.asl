// A goal that is suspended while it waits still gives what it waits for as the reason.

!start.

+!start
   <- !!job(1);
      .wait(50);
      .suspended(job(1), wait(_)[time(Before)]);
      .print(Before);
      .suspend(job(1));
      .suspended(job(1), wait(_)[time(After)]);
      .print(After);
      .stopMAS.

+!job(_) <- .wait(500).
