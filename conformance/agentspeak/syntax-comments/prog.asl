// a line comment
/* a block
   comment */ start. // trailing
/** doc ** style **/
!go. /* between */ +!go /* in */ <- /* here */
  .print("// not a comment"); // really one
  .print("/* nor this */");
  ?start; .print(ok);
  .stopMAS. // end without newline
