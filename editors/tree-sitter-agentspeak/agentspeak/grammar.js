/**
 * @file AgentSpeak(L) in Jason's dialect, as `crates/bdi/src/syntax` reads it
 * @license Apache-2.0
 */

/// <reference types="tree-sitter-cli/dsl" />
// @ts-check

// Binding strength of operators, the loosest first.
const PREC = {
  or: 1,
  and: 2,
  not: 3,
  relation: 4,
  sum: 5,
  product: 6,
  power: 7,
  sign: 8,
};

const WORDS = ['true', 'false', 'not', 'div', 'mod', 'if', 'else', 'elif', 'for', 'while'];

/** One or more of `rule`, separated by commas. */
function commaSep1(rule) {
  return seq(rule, repeat(seq(',', rule)));
}

/** A binary operation. */
function binary(left, operator, right) {
  return seq(field('left', left), field('operator', operator), field('right', right));
}

/** A name with its optional arguments. */
function call($, functor) {
  return seq(field('functor', functor), field('arguments', optional($.arguments)));
}

export default grammar({
  name: 'agentspeak',

  externals: $ => [
    // A full stop that ends a clause. Others begin or continue a name, or are part of a number.
    $._end,
    // A `<` that does not begin `<-`, `<:` or `<=`.
    $._less,
  ],

  extras: $ => [/[ \t\r\n]/, $.comment],

  word: $ => $._plain_name,

  // Names in quotes may be any of these.
  reserved: {
    global: _ => WORDS,
    directive: _ => [...WORDS, 'begin', 'end'],
  },

  // Terms and formulas share most of their beginnings, but a text cannot be added, nor a number hold.
  inline: $ => [$._formula, $._condition, $._operand, $._number_like, $._shared, $._event, $._step_item],

  conflicts: $ => [
    // A block in braces after a plan: its sub-plans, or the next directive.
    [$.plan],
    // A parenthesis at the beginning of a step: a formula, or several steps.
    [$._step, $._term],
  ],

  rules: {
    source_file: $ => repeat($._clause),

    _clause: $ => choice($.belief, $.rule, $.initial_goal, $.plan, $.directive, $.block),

    _full_stop: $ => alias($._end, '.'),

    // Clauses

    belief: $ => seq(field('head', $._head), $._full_stop),

    rule: $ => seq(field('head', $._head), ':-', field('body', $._condition), $._full_stop),

    _head: $ => choice($.literal, alias($._qualified_call, $.internal_action), $.boolean),

    initial_goal: $ => seq('!', field('goal', choice($.literal, $.internal_action, $.boolean)), $._full_stop),

    plan: $ => seq(
      optional($.label),
      $.trigger,
      optional(seq(':', field('context', $._condition))),
      optional(seq('<:', field('goal_condition', $._condition))),
      optional(seq('<-', field('body', $.body))),
      $._full_stop,
      optional($.sub_plans),
    ),

    sub_plans: $ => seq('{', repeat($.plan), '}'),

    label: $ => seq('@', choice(
      seq(field('name', $._any_name), optional($.annotations)),
      $.annotations,
    )),

    trigger: $ => seq(
      field('operator', choice('+', '-', '^')),
      optional(field('kind', choice('!', '?'))),
      field('event', $._event),
    ),

    _event: $ => choice($.literal, alias($._qualified_call, $.internal_action), $._variable, $.boolean),

    // Directives

    directive: $ => seq(
      '{',
      field('name', $._directive_name),
      optional($.arguments),
      optional($.annotations),
      '}',
    ),

    block: $ => seq(
      '{', 'begin',
      field('name', $._directive_name),
      optional($.arguments),
      optional($.annotations),
      '}',
      repeat($._clause),
      '{', 'end', '}',
    ),

    _any_name: $ => choice($.atom, alias($.qualified_name, $.atom), alias($.dotted_name, $.atom)),

    _directive_name: $ => alias(choice(
      reserved('directive', $._plain_name),
      $._quoted_name,
      $.qualified_name,
      $.dotted_name,
    ), $.atom),

    // Bodies

    body: $ => $._steps,

    _steps: $ => seq(
      repeat(choice(
        seq($._control, optional(';')),
        seq($._step_item, ';'),
      )),
      choice(
        seq($._control, optional(';')),
        seq($._step_item, optional(';')),
      ),
    ),

    _control: $ => choice($.if_statement, $.for_statement, $.while_statement),

    _step_item: $ => choice($._branch, $.fork_or),

    fork_or: $ => seq($._branch, repeat1(seq('|||', $._branch))),

    _branch: $ => choice($._step, $.fork_and),

    fork_and: $ => seq($._step, repeat1(seq('|&|', $._step))),

    _step: $ => choice(
      $._condition,
      $.code,
      $.achieve,
      $.test,
      $.update,
      $.group,
    ),

    achieve: $ => seq(field('operator', choice('!', '!!')), field('goal', $._goal)),

    _goal: $ => choice($.literal, $._variable, $.boolean),

    test: $ => seq(field('operator', '?'), field('query', $._condition)),

    update: $ => seq(
      field('operator', choice('+', '-', '++', '+<', '+>', '-+', '--')),
      field('subject', choice($.literal, $._variable, $.boolean, $.code, $.parenthesized)),
    ),

    group: $ => prec.dynamic(-1, seq('(', $._steps, ')')),

    if_statement: $ => seq(
      'if', '(', field('condition', $._condition), ')', field('consequence', $.statements),
      repeat($.elif_clause),
      optional($.else_clause),
    ),

    elif_clause: $ => seq('elif', '(', field('condition', $._condition), ')', field('consequence', $.statements)),

    else_clause: $ => seq('else', field('consequence', $.statements)),

    for_statement: $ => seq('for', '(', field('condition', $._condition), ')', field('body', $.statements)),

    while_statement: $ => seq('while', '(', field('condition', $._condition), ')', field('body', $.statements)),

    statements: $ => seq('{', optional($._steps), '}'),

    // Formulas and terms

    _condition: $ => $._formula,

    _term: $ => choice($._formula, $._number_like, $.string, $.list, $.code),

    _formula: $ => choice($._shared, $.conjunction, $.disjunction, $.negation, $.relation),

    _operand: $ => choice($._shared, $._number_like, $.string, $.list, $.code),

    _number_like: $ => choice($.number, $.arithmetic, $.signed),

    _shared: $ => choice($.literal, $.internal_action, $._variable, $.boolean, $.parenthesized),

    disjunction: $ => prec.left(PREC.or, binary($._formula, '|', $._formula)),

    conjunction: $ => prec.left(PREC.and, binary($._formula, '&', $._formula)),

    negation: $ => prec(PREC.not, seq('not', field('operand', $._formula))),

    relation: $ => prec(PREC.relation, binary(
      $._operand,
      choice(alias($._less, '<'), '<=', '>', '>=', '==', '\\==', '=', '=..'),
      $._operand,
    )),

    arithmetic: $ => choice(
      prec.left(PREC.sum, binary($._addend, choice('+', '-'), $._addend)),
      prec.left(PREC.product, binary($._addend, choice('*', '/', 'div', 'mod'), $._addend)),
      prec.right(PREC.power, binary($._addend, '**', $._addend)),
    ),

    _addend: $ => choice($._shared, $._number_like),

    signed: $ => prec(PREC.sign, seq(
      field('operator', choice('+', '-')),
      field('operand', choice($._shared, $.number)),
    )),

    parenthesized: $ => seq('(', $._term, ')'),

    // Literals

    literal: $ => seq(
      optional($._namespace),
      optional(field('negation', '~')),
      call($, $.atom),
      field('annotations', optional($.annotations)),
    ),

    // An internal action such as `.print(X)`, an action of a package such as `jia.act(X)`, or a function.
    internal_action: $ => choice(
      seq(optional($._namespace), call($, alias($.dotted_name, $.action_name))),
      $._qualified_call,
      seq(field('functor', alias($._code_action, $.action_name)), optional(alias($.code_arguments, $.arguments))),
    ),

    _qualified_call: $ => seq(optional($._namespace), call($, alias($.qualified_name, $.action_name))),

    // Actions whose later arguments may be code without braces, as Jason prints it.
    _code_action: _ => choice('.if_then_else', '.loop', '.foreach', '.fork'),

    code_arguments: $ => seq('(', $._term, repeat(seq(',', optional($.body))), ')'),

    _namespace: $ => seq(field('namespace', optional(choice($.atom, $.variable))), '::'),

    arguments: $ => seq('(', commaSep1($._term), ')'),

    annotations: $ => $._list,

    _variable: $ => choice($.variable, $.qualified_variable),

    qualified_variable: $ => choice(
      seq($._namespace, optional('~'), $.variable, optional($.annotations)),
      seq('~', $.variable, optional($.annotations)),
      seq($.variable, $.annotations),
    ),

    list: $ => $._list,

    _list: $ => seq(
      '[',
      optional(commaSep1($._element)),
      optional(seq('|', field('tail', choice($.variable, $.list)))),
      ']',
    ),

    _element: $ => choice($._operand, $.negation),

    // Code as data

    code: $ => seq('{', optional(choice($.plan_term, $.rule_term, $.body)), '}'),

    rule_term: $ => seq(field('head', $._head), ':-', field('body', $._condition)),

    plan_term: $ => choice(
      seq(
        alias($.label_term, $.label),
        $.trigger,
        optional(seq(':', field('context', $._condition))),
        optional(seq('<-', field('body', $.body))),
      ),
      seq(
        alias($.goal_trigger, $.trigger),
        optional(seq(':', field('context', $._condition))),
        optional(seq('<-', field('body', $.body))),
      ),
      // Without a context or a body this is a step that adds or deletes a belief.
      seq(
        alias($.belief_trigger, $.trigger),
        choice(
          seq(':', field('context', $._condition), optional(seq('<-', field('body', $.body)))),
          seq('<-', field('body', $.body)),
        ),
      ),
    ),

    label_term: $ => seq('@', choice(
      seq(field('name', choice($._any_name, $.variable)), optional($.annotations)),
      $.annotations,
    )),

    goal_trigger: $ => seq(
      field('operator', choice('+', '-', '^')),
      field('kind', choice('!', '?')),
      field('event', $._event),
    ),

    belief_trigger: $ => seq(field('operator', choice('+', '-', '^')), field('event', $._event)),

    // Tokens

    atom: $ => choice($._plain_name, $._quoted_name),

    _plain_name: _ => /[a-z][A-Za-z0-9_]*/,

    _quoted_name: _ => /'[^']*'/,

    qualified_name: _ => /[a-z][A-Za-z0-9_]*(\.[A-Za-z0-9_]+)+/,

    // Before names, so that `.5` is a number; `.5x` is longer, thus a name.
    number: _ => /([0-9]+(\.[0-9]+)?|\.[0-9]+)([eE][+-]?[0-9]+)?/,

    dotted_name: _ => /(\.[A-Za-z0-9_]+)+/,

    variable: _ => /[A-Z_][A-Za-z0-9_]*/,

    boolean: _ => choice('true', 'false'),

    string: $ => seq(
      '"',
      repeat(choice(
        alias(token.immediate(prec(1, /[^"\\\r\n]+/)), $.string_content),
        $.escape_sequence,
      )),
      token.immediate('"'),
    ),

    escape_sequence: _ => token.immediate(/\\[ntbrf\\'"0-7]/),

    comment: _ => token(choice(
      /\/\/[^\r\n]*/,
      /\/\*[^*]*\*+([^/*][^*]*\*+)*\//,
    )),
  },
});
