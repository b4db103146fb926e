!go.
+!go <- .print(0.1+0.2); .print(1/3); .print(2/3); .print(10/2); .print(1e7); .print(12345678); .print(1234567.5); .print(12345678.5);
  .print(1e21); .print(1e15); .print(123456789012345678); .print(1.0E-3); .print(0.00099); .print(9.999e-4); .print(1e-10);
  .print(5e-324); .print(1.7976931348623157e308); .print(9007199254740993); .print(0.1); .print(100*1.1); .print(3.0); .print(-0.0);
  .print(1e18); .print(9.3e18); .print(4.35); .print(2.2250738585072014E-308); .print(1.0e23); .print(33333333.333333332); .print(0.001); .print(123456.789e3); .stopMAS.
