; Definitions, with the comment above them

(
  (comment)* @doc
  .
  (plan
    (trigger
      event: (literal
        functor: (atom) @name))) @definition.function
  (#strip! @doc "^(//|/\\*)\\s*|\\s*\\*/$")
  (#select-adjacent! @doc @definition.function)
)

(
  (comment)* @doc
  .
  (rule
    head: (literal
      functor: (atom) @name)) @definition.function
  (#strip! @doc "^(//|/\\*)\\s*|\\s*\\*/$")
  (#select-adjacent! @doc @definition.function)
)

(belief
  head: (literal
    functor: (atom) @name)) @definition.constant

; References

(initial_goal
  goal: (literal
    functor: (atom) @name)) @reference.call

(achieve
  goal: (literal
    functor: (atom) @name)) @reference.call

(test
  query: (literal
    functor: (atom) @name)) @reference.call

(update
  subject: (literal
    functor: (atom) @name)) @reference.call
