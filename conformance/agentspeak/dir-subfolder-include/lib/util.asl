+!util(X,Y) <- Y = X*2.
