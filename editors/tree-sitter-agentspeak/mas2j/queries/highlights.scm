; The last pattern that matches a node wins.

(comment) @comment

(string) @string

(escape_sequence) @string.escape

(number) @number

(word) @constant

(file) @string.special.path

(class_name) @type

(project
  name: (word) @module)

(agent
  name: (word) @variable)

(offer
  name: (word) @variable)

(directive
  name: (word) @keyword.directive)

(option
  key: (word) @property)

(unknown_section
  name: (word) @keyword)

[
  "MAS"
  "infrastructure"
  "environment"
  "offers"
  "executionControl"
  "agents"
  "directives"
  "classpath"
  "aslSourcePath"
  "agentClass"
  "agentArchClass"
  "beliefBaseClass"
  "at"
] @keyword

[
  "="
  "#"
] @operator

[
  ","
  ";"
  ":"
] @punctuation.delimiter

[
  "("
  ")"
  "["
  "]"
  "{"
  "}"
] @punctuation.bracket
