// Clerk: closes the office when all three historians have their answers.

+done : .count(done[source(_)], 3) <- .print("everybody knows"); .stopMAS.
