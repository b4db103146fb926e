val(buyer1,item1,10). val(buyer2,item1,25). val(buyer3,item1,15). val(buyer1,item2,40). val(buyer2,item2,5). val(buyer3,item2,39).
+?bid(I,V) : .my_name(Me) & val(Me,I,V).
+won(I,V) <- .print("I won ",I).
