/**
 * @file Jason's projects, as `crates/bdi/src/project` reads them
 * @license Apache-2.0
 */

/// <reference types="tree-sitter-cli/dsl" />
// @ts-check

const SECTIONS = [
  'infrastructure',
  'environment',
  'offers',
  'executionControl',
  'agents',
  'directives',
  'classpath',
  'aslSourcePath',
];

/** One or more of `rule`, separated by commas. */
function commaSep1(rule) {
  return seq(rule, repeat(seq(',', rule)));
}

/** Nothing, or one or more of `rule`, separated by commas. */
function commaSep(rule) {
  return optional(commaSep1(rule));
}

/** A section: its name, a colon, and its content. */
function section(name, content) {
  return seq(field('name', name), ':', content);
}

export default grammar({
  name: 'mas2j',

  extras: $ => [/[ \t\r\n]/, $.comment],

  word: $ => $._identifier,

  // A word begins the next section if a colon follows it, else the next item of this one.
  conflicts: $ => [[$.agents], [$.offers], [$.directives], [$.unknown_section]],

  inline: $ => [$._name, $._file_name],

  rules: {
    project: $ => seq('MAS', field('name', $._name), '{', repeat($._section), '}'),

    _section: $ => choice(
      $.infrastructure,
      $.environment,
      $.offers,
      $.execution_control,
      $.agents,
      $.directives,
      $.classpath,
      $.source_path,
      $.unknown_section,
    ),

    infrastructure: $ => section('infrastructure', field('class', $.class)),

    environment: $ => section('environment', seq(field('class', $.class), optional($._host))),

    execution_control: $ => section('executionControl', seq(field('class', $.class), optional($._host))),

    offers: $ => section('offers', repeat1($.offer)),

    offer: $ => seq(field('name', $._name), '=', field('folder', $.string), optional($._host), ';'),

    agents: $ => section('agents', repeat1($.agent)),

    agent: $ => seq(
      field('name', $._name),
      optional(field('source', choice($._file_name, $.string))),
      repeat($._part),
      ';',
    ),

    _part: $ => choice(
      $.instances,
      field('options', $.options),
      seq('agentClass', field('agent_class', $.class)),
      seq('agentArchClass', field('arch_class', $.class)),
      seq('beliefBaseClass', field('belief_base_class', $.class)),
      $._host,
    ),

    instances: $ => seq('#', $.number),

    options: $ => seq('[', commaSep($.option), ']'),

    option: $ => seq(field('key', $._name), '=', field('value', choice($._name, $.number, $.string))),

    directives: $ => section('directives', repeat($.directive)),

    directive: $ => seq(field('name', $._name), '=', field('class', $.class), ';'),

    classpath: $ => section('classpath', repeat1(seq($.string, ';'))),

    source_path: $ => section('aslSourcePath', repeat1(seq($.string, ';'))),

    unknown_section: $ => section($.word, repeat(choice(
      $._name, $.number, $.string, ';', ',', '=', '#', '(', ')', '[', ']',
    ))),

    _host: $ => seq('at', field('host', $.string)),

    class: $ => seq(
      field('name', alias($.word, $.class_name)),
      optional($.parameters),
    ),

    parameters: $ => seq('(', commaSep($._parameter), ')'),

    list: $ => seq('[', commaSep($._parameter), ']'),

    _parameter: $ => choice($.class, $.number, $.string, $.list),

    // A word of the language is special in its own place only.
    _name: $ => choice($.word, alias(choice(...SECTIONS, 'MAS'), $.word)),

    _file_name: $ => alias(choice($._identifier, $._path, ...SECTIONS, 'MAS'), $.file),

    word: $ => choice($._identifier, $._path),

    _identifier: _ => /[a-z][A-Za-z0-9_]*/,

    // Before paths, which are longer if they only begin with a number.
    number: _ => /-?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?/,

    _path: _ => /([A-Za-z]:)?(\/?[A-Za-z0-9_.\\$+-])+/,

    string: $ => seq(
      '"',
      repeat(choice(
        alias(token.immediate(prec(1, /[^"\\\r\n]+/)), $.string_content),
        $.escape_sequence,
      )),
      token.immediate('"'),
    ),

    escape_sequence: _ => token.immediate(/\\[^\r\n]/),

    comment: _ => token(choice(
      /\/\/[^\n]*/,
      /\/\*[^*]*\*+([^/*][^*]*\*+)*\//,
    )),
  },
});
