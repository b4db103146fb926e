[
  (plan)
  (rule)
  (block)
  (sub_plans)
  (statements)
  (code)
  (comment)
] @fold
