+?v(X) <- .print(asked); .fail.
