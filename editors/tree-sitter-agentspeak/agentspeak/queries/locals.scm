; A variable belongs to its clause. Those of a plan's event, or of a rule's head, are its parameters.

[
  (belief)
  (rule)
  (initial_goal)
  (plan)
] @local.scope

(trigger
  event: (literal
    arguments: (arguments
      (variable) @local.definition)))

(rule
  head: (literal
    arguments: (arguments
      (variable) @local.definition)))

(variable) @local.reference
