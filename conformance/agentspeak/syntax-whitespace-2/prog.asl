b( 1 , [ a , b | [ c ] ] ) [ x , y ] .
!go.
+!go<-?b(X,Y)[x];.print(X,Y);Z=X+1;.print(Z);if(Z==2){.print(yes)}else{.print(no)};for(.member(K,[1,2])){.print(K)};
.stopMAS.
