limit(30).
+temp(T) : limit(L) & T > L <- .print("alarm ",T); +alarm(T).
+temp(T) <- .print("ok ",T).
+!report <- .count(alarm(_),N); .findall(X,temp(X),L); .max(L,M); .print(N," alarms, max ",M); .stopMAS.
