{ include("b.asl",y) }
{ include("b.asl") }
+!run <- !show; !y::show.
