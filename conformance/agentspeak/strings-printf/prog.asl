!go.
+!go <- .printf("%s-%s","a",b); .printf("%.2f|%8.3f|%e",3.14159,2,12345.678); .printf("%5s|%-5s|",ab,cd); .printf("%.0f%%",50); .printf("plain"); .println("println ",1); .stopMAS.
