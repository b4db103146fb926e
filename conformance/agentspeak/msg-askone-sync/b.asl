price(apple,3). price(pear,5).
+?computed(X,Y) <- Y = X*X.
