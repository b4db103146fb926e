// Supermarket: delivers orders. A delivery is an action on the house, too.

+!order(Product, N)[source(Customer)]
   <- .print("order from ", Customer, ": ", N, " x ", Product);
      .wait(50);
      deliver(Product, N);
      .send(Customer, tell, delivered(Product)).
