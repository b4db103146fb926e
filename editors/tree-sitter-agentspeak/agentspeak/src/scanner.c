// Tells signs apart by the character after them. A full stop ends a clause only if no letter, digit or `_` follows:
// names include their inner dots. `<` compares only if it does not begin `<-`, `<:` or `<=`.

#include "tree_sitter/parser.h"

enum TokenType { END, LESS };

static bool continues_name(int32_t character) {
  return (character >= 'a' && character <= 'z') || (character >= 'A' && character <= 'Z') ||
         (character >= '0' && character <= '9') || character == '_';
}

static bool is_blank(int32_t character) {
  return character == ' ' || character == '\t' || character == '\r' || character == '\n';
}

void *tree_sitter_agentspeak_external_scanner_create(void) { return NULL; }

void tree_sitter_agentspeak_external_scanner_destroy(void *payload) { (void)payload; }

unsigned tree_sitter_agentspeak_external_scanner_serialize(void *payload, char *buffer) {
  (void)payload;
  (void)buffer;
  return 0;
}

void tree_sitter_agentspeak_external_scanner_deserialize(void *payload, const char *buffer, unsigned length) {
  (void)payload;
  (void)buffer;
  (void)length;
}

bool tree_sitter_agentspeak_external_scanner_scan(void *payload, TSLexer *lexer, const bool *valid_symbols) {
  (void)payload;
  while (is_blank(lexer->lookahead)) {
    lexer->advance(lexer, true);
  }
  int32_t sign = lexer->lookahead;
  if (!(sign == '.' && valid_symbols[END]) && !(sign == '<' && valid_symbols[LESS])) {
    return false;
  }
  lexer->advance(lexer, false);
  lexer->mark_end(lexer);
  int32_t next = lexer->lookahead;
  lexer->result_symbol = sign == '.' ? END : LESS;
  return sign == '.' ? !continues_name(next) : next != '-' && next != ':' && next != '=';
}
