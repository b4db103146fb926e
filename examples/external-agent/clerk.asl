// Closes the office when all three know.

+done : .count(done[source(_)], 3) <- .print("everybody knows"); .stopMAS.
