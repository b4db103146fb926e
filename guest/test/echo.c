/* Prints what a message says, and sends it back as it understood it: for guest.test.mjs. */
#include <whimbrel.h>

static char line[4096];
static uint32_t len;

static void put(whim_text text) {
    __builtin_memcpy(line + len, text.at, text.len);
    len += text.len;
}

static void put_number(uint64_t number, uint32_t base, uint32_t digits) {
    char out[24];
    uint32_t at = sizeof out;
    for (; number != 0 || sizeof out - at < digits; number /= base) out[--at] = "0123456789abcdef"[number % base];
    put((whim_text){out + at, sizeof out - at});
}

static void put_counted(whim_text tag, whim_text text) {
    put(tag);
    put_number(text.len, 10, 1);
    put(whim_str(":"));
    put(text);
}

static void copy(whim_reader *from);

static void copy_many(whim_reader *from, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        copy(from);
        put(whim_str(";"));
    }
}

static void copy_record(whim_reader *from, whim_value record) {
    put_counted(whim_str("r"), record.text);
    put(whim_str("("));
    whim_put_record(record.text, record.count);
    for (uint32_t i = 0; i < record.count; i++) {
        whim_text name;
        whim_read_name(from, &name);
        put_counted(whim_str(""), name);
        whim_put_name(name);
        copy_many(from, 1);
    }
    put(whim_str(")"));
}

static void copy_term(whim_reader *from, whim_value term) {
    if (term.flags & WHIM_NEGATED) put(whim_str("~"));
    if (term.flags & WHIM_HAS_NAMESPACE) put_counted(whim_str("m"), term.namespace);
    put_counted(whim_str("f"), term.text);
    put(whim_str("("));
    whim_put_full_term(term.flags, term.text, term.namespace, term.count);
    copy_many(from, term.count);
    put(whim_str(")"));
    if (!(term.flags & WHIM_HAS_ANNOTATIONS)) return;
    uint32_t count = whim_read_annotations(from);
    whim_put_annotations(count);
    put(whim_str("["));
    copy_many(from, count);
    put(whim_str("]"));
}

static void copy_int(int64_t number) {
    put(whim_str("i"));
    if (number < 0) put(whim_str("-"));
    put_number(number < 0 ? 0 - (uint64_t)number : (uint64_t)number, 10, 1);
    whim_put_int(number);
}

static void copy_double(double number) {
    uint64_t bits;
    __builtin_memcpy(&bits, &number, 8);
    put(whim_str("d"));
    put_number(bits, 16, 16);
    whim_put_double(number);
}

static void copy_bytes(whim_text bytes) {
    put(whim_str("b"));
    for (uint32_t i = 0; i < bytes.len; i++) put_number((uint8_t)bytes.at[i], 16, 2);
    whim_put_bytes(bytes);
}

/* Spells the next value, and writes it. */
static void copy(whim_reader *from) {
    whim_value value = whim_read(from);
    switch (value.kind) {
    case WHIM_NULL: put(whim_str("n")); whim_put_null(); break;
    case WHIM_FALSE: put(whim_str("F")); whim_put_bool(false); break;
    case WHIM_TRUE: put(whim_str("T")); whim_put_bool(true); break;
    case WHIM_INT: copy_int(value.integer); break;
    case WHIM_DOUBLE: copy_double(value.number); break;
    case WHIM_TEXT: put_counted(whim_str("t"), value.text); whim_put_text(value.text); break;
    case WHIM_ATOM: put_counted(whim_str("a"), value.text); whim_put_atom(value.text); break;
    case WHIM_VARIABLE: put_counted(whim_str("v"), value.text); whim_put_variable(value.text); break;
    case WHIM_BYTES: copy_bytes(value.text); break;
    case WHIM_LIST: put(whim_str("[")); whim_put_list(value.count); copy_many(from, value.count); put(whim_str("]")); break;
    case WHIM_MAP: put(whim_str("{")); whim_put_map(value.count); copy_many(from, 2 * value.count); put(whim_str("}")); break;
    case WHIM_RECORD: copy_record(from, value); break;
    case WHIM_TERM: copy_term(from, value); break;
    default: put(whim_str("?"));
    }
}

WHIM_ON_MESSAGE(message) {
    whim_text field;
    uint8_t which;
    len = 0;
    whim_begin(message->performative);
    for (whim_reader all = message->all; (which = whim_next_field(&all, &field)) != 0;) {
        whim_reader from = {(const uint8_t *)field.at, (const uint8_t *)field.at + field.len};
        whim_text name;
        if (which == WHIM_CONTENT) {
            whim_begin_content();
            copy(&from);
        } else if (which == WHIM_USER) {
            uint32_t before = len;
            whim_open_field(WHIM_USER);
            whim_read_name(&from, &name);
            whim_put_name(name);
            copy(&from);
            len = before;
        } else {
            whim_put_field(which, field);
        }
    }
    if (len == 0) put(whim_str("n"));
    whim_print((whim_text){line, len});
    return whim_send();
}
