[
  (project)
  (agents)
  (offers)
  (directives)
  (options)
  (comment)
] @fold
