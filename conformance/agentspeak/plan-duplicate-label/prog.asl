@d +!x <- .print(1).
!go.
+!go <- .add_plan({ @d +!x <- .print(2) }); .print(no).
-!go[error(E),error_msg(M)] <- .print(E," ",M); !x; .stopMAS.
