; The last pattern that matches a node wins.

(comment) @comment

(string) @string

(escape_sequence) @string.escape

(number) @number

(boolean) @constant.builtin

(variable) @variable

; Names

(atom) @constant

(literal
  functor: (atom) @property)

(arguments
  (literal
    functor: (atom) @constant
    !arguments))

(list
  (literal
    functor: (atom) @constant
    !arguments))

(relation
  (literal
    functor: (atom) @constant
    !arguments))

(annotations
  (literal
    functor: (atom) @attribute))

((atom) @variable.builtin
  (#any-of? @variable.builtin "self" "percept"))

(literal
  namespace: (_) @module)

(internal_action
  namespace: (_) @module)

(qualified_variable
  namespace: (_) @module)

; Actions of the environment are steps without a sign.

(body
  (literal
    functor: (atom) @function.call))

(statements
  (literal
    functor: (atom) @function.call))

(group
  (literal
    functor: (atom) @function.call))

(action_name) @function.builtin

; Goals and events

(trigger
  event: (literal
    functor: (atom) @function))

(initial_goal
  goal: (literal
    functor: (atom) @function.call))

(achieve
  goal: (literal
    functor: (atom) @function.call))

(label
  "@" @label
  name: (_)? @label)

; Directives

(directive
  name: (atom) @keyword.directive)

(block
  name: (atom) @keyword.directive)

[
  "begin"
  "end"
] @keyword.directive

; Words and signs

[
  "if"
  "elif"
  "else"
] @keyword.conditional

[
  "for"
  "while"
] @keyword.repeat

[
  "not"
  "div"
  "mod"
] @keyword.operator

[
  "<-"
  ":-"
  "<:"
  "!"
  "!!"
  "?"
  "+"
  "-"
  "^"
  "++"
  "+<"
  "+>"
  "-+"
  "--"
  "|&|"
  "|||"
  "&"
  "|"
  "~"
  "<"
  "<="
  ">"
  ">="
  "=="
  "\\=="
  "="
  "=.."
  "*"
  "/"
  "**"
] @operator

[
  "."
  ","
  ";"
  ":"
  "::"
] @punctuation.delimiter

[
  "("
  ")"
  "["
  "]"
  "{"
  "}"
] @punctuation.bracket
