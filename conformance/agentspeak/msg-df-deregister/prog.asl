!s.
+!s <- .df_register(shop); .df_register(bank); .df_search(shop,L); .print(L); .df_deregister(shop); .df_search(shop,L2); .print(L2); .df_search("bank",L3); .print(L3); .stopMAS.
