// Librarian: sends documents on request, in pages, as a file server does.

!open.

+!open <- .send(reader, tell, open).

+!page(From, Count)[source(Client)] <-
    .act(library, list(From, Count), Listed);
    !read(Listed, Texts);
    .send(Client, tell, page(From, Texts)).

+!read([], []).
+!read([document(Name, _) | Rest], [text(Name, Text) | Texts]) <-
    .act(library, read(Name), Text);
    !read(Rest, Texts).
