!go.
+!go <- !t({.length([1],2,3)}); !t({.sort(a,X)}); !t({.concat([a],b,X)}); !t({.nth(a,[b],X)}); !t({.member(X,a)}); !t({.range(X,a,3)}); !t({.union(a,[],X)});
  !t({.max(a,X)}); !t({.send(1,tell,x)}); !t({.sublist("a",[b])}); !t({.prefix(a,b)}); !t({.reverse(a,X)}); !t({.empty(a)}); !t({.my_name(nobody)}); !t({.upper_case("a")}); !t({.broadcast(tell)}); !t({.wait}); !t({.findall(X)}); !t({.abolish}); .stopMAS.
+!t(B) <- B; .print("no failure").
-!t(B)[error(E),error_msg(M)] <- .print(E,": ",M).
