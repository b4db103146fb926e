// Librarian: sends documents on request, in pages, as a file server does.

// Between processes of one machine, any amount of text takes no time. So a page takes as long here as on a link between
// machines, of 10 Mbit/s. Remove the wait where the libraries are on other machines.
bits_per_ms(10000).

!open.

+!open <- .send(reader, tell, open).

+!page(From, Count)[source(Client)] <-
   .act(library, list(From, Count), Listed);
   !read(Listed, Texts, Characters);
   ?bits_per_ms(Rate);
   .wait(math.ceil(8 * Characters / Rate));
   .send(Client, tell, page(From, Texts)).

+!read([], [], 0).
+!read([document(Name, _)|Rest], [text(Name, Text)|Texts], Length + Characters) <-
   .act(library, read(Name), Text);
   .length(Text, Length);
   !read(Rest, Texts, Characters).
