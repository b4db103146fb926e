// .resume with variables resumes the first goal that matches, and no other: one waits until the one before is done.

!start.

+!start
   <- !!job(1);
      !!job(2);
      .wait(100);
      .resume(job(_));
      .wait(100);
      .count(done(_), First);
      .print(First);
      .resume(job(_));
      .wait(100);
      .count(done(_), Second);
      .print(Second);
      .stopMAS.

+!job(N) <- .suspend; +done(N).
