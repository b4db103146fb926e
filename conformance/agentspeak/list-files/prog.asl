// The files of a folder and of the folders in it, by their names.

!start.

+!start
   <- .list_files("./parts", ".*[.]asl", Found);
      .sort(Found, Sorted);
      .print(Sorted);
      .list_files("./parts", All);
      .print(.length(All));
      .list_files("./nowhere", None);
      .print(None);
      .stopMAS.
