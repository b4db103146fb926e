+!drive(P) : at(X) <- .print("from ",X," to ",P); -+at(P).
