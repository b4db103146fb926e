// A goal that is suspended before a plan is chosen for it says so, and so does its being resumed.

!start.

+!start
   <- !!job(1);
      .suspend(job(1));
      .wait(50);
      .print("let it go on");
      .resume(job(1));
      .wait(100);
      .stopMAS.

+!job(N) <- .wait(20); .print("job ", N).

^!job(N)[state(S)] <- .print(S).
