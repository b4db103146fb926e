!go.
+!go <- .print(a," ",a(1)," ",a(1,b,"c")," ",a(b(c(d)))," ",~a," ",~a(1)[b]," ",a[b,c(1)]," ",'A b'," ",'A'(1));
  .print("s"," ",["s"]," ",f("s")," ",f("a b","")," ",["x","y"|["z"]]);
  .print(X," ",f(X)," ",[X,Y]," ",f(X,Y,X)); .print(3," ",3.0," ",3.5," ",f(3.0,-2)," ",[1.0,2.5]);
  .print({a}," ",{+!b}," ",{c :- d}); .print(true,false,not a,(a & b),(a | b),(1 < X)); .print(ns::a(1)," ",default::b," ",ns::~c[d]); .stopMAS.
