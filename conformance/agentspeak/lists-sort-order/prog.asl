!go.
+!go <- .sort([b,3,"s",[2],f(x),~a,a,1.5,[1,5],[],"a",f(a,b),f(a),-2,a(1),'Z',zz[k],zz,b(2),b(1,1)],L); .print(L); .sort([f(1,2),f(1),g(0),f(0,9),f],L2); .print(L2); .sort([[1,2],[1],[2],[1,1,1],[]],L3); .print(L3);
  .sort([a[z],a[b],a,a[b,c]],L4); .print(L4); .sort([~b,b,~a,a],L5); .print(L5); .sort([p(b),p(1),p("x"),p([a]),p(f(1))],L6); .print(L6); .sort([c,a,b,a,c],L7); .print(L7); .sort([x_1,xA,x1,xa,xZ],L8); .print(L8); .stopMAS.
