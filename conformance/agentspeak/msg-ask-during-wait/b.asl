state(starting).
!w.
+!w <- .wait(60); -+state(ready).
