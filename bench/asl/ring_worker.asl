// Worker w<I> passes tokens to w<I+1>; the last one passes to w1.
!join.

+!join : workers(W)
  <- .my_name(Me);
     .delete("w", Me, Digits);
     .term2string(I, Digits);
     .concat("w", I mod W + 1, Name);
     .term2string(Next, Name);
     +next(Next);
     .send(driver, achieve, ready).

+!token(0) <- .send(driver, achieve, spent).
+!token(N) : next(Next) <- .send(Next, achieve, token(N-1)).
