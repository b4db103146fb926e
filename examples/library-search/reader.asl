// Reader: does each search twice, by sending the searcher to the libraries, and by having all documents sent to it.

looks_for("grafting apple trees in winter").
looks_for("repairing sluice gates in a storm").
looks_for("tuning church organs before a feast").

+open : .count(open[source(_)], 3) <- !read.

+!read <-
   for (looks_for(Words)) {
      .print("Looking for ", Words, ".");
      !ask(search(Words, 3, [n2, n3, n4]), Hits, Documents, Went);
      for (.member(hit(Where, Name, Title, _), Hits)) {
         .print("  ", Title, " (", Name, " on ", Where, ")")
      };
      !ask(fetch(Words, 3, [gardens, harbours, workshops]), Same, Documents, Sent);
      !compare(Hits, Same);
      .print("  In ", Documents, " documents: the agent went, ", Went, " ms; the documents came, ", Sent, " ms.")
   };
   .stopMAS.
-!read[error_msg(Why)] <- .print("That failed: ", Why); .stopMAS.

// Asks the searcher, and measures the time.
+!ask(Request, Hits, Documents, Took) <-
   Began = system.time;
   .send(searcher, request, Request);
   .wait(found(Hits, Documents)[source(searcher)], 60000);
   .abolish(found(_, _));
   Took = system.time - Began.

// Both ways must find the same documents.
+!compare(Hits, Same) <-
   .findall(Name, .member(hit(_, Name, _, _), Hits), Names);
   .findall(Name, .member(hit(_, Name, _, _), Same), Names).

+!kqml_received(searcher, failure, Why, _) <- .print("The searcher says: ", Why); .stopMAS.
