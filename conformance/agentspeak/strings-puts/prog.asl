!go.
+!go <- X = 5; Y = "str"; Z = f(X,Y); .puts("X=#{X} Y=#{Y} Z=#{Z}"); .puts("no vars"); .puts("#{X}#{X}"); .puts("in string: #{Y}",R); .print(R); .length(R,N); .print(N); .stopMAS.
