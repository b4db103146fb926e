!go.
+!go <- .print(math.abs(-3)," ",math.abs(2.5)," ",math.max(2,7)," ",math.min(2,7)," ",math.max([4,9,1])," ",math.min([4,9,1])); .print(math.floor(2.7)," ",math.floor(-2.2)," ",math.ceil(2.1)," ",math.round(2.5)," ",math.round(2.4)," ",math.round(-2.6));
  .print(math.sqrt(16)," ",math.sqrt(2)," ",math.log(1)," ",math.log(math.e)); .print(math.sum([1,2,3.5])," ",math.average([1,2,3])," ",math.mean([2,4])," ",math.median([5,1,3])," ",math.median([4,1,3,2])," ",math.std_dev([2,4,4,4,5,5,7,9]));
  .print(math.sin(0)," ",math.cos(0)," ",math.tan(0)," ",math.asin(0)," ",math.acos(1)," ",math.atan(0)); .print(math.pi," ",math.e); .print(math.max(math.abs(-8),math.floor(3.3))); .stopMAS.
