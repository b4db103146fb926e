!go.
+!go <- for (.range(I,1,15)) { if (I mod 15 == 0) { .print(fizzbuzz) } elif (I mod 3 == 0) { .print(fizz) } elif (I mod 5 == 0) { .print(buzz) } else { .print(I) } }; .stopMAS.
