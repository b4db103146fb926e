/* Searches the documents that the node offers as `library`, wherever it is: `request find(Word)`. */
#include <whimbrel.h>

#define LIBRARY whim_str("library")
#define PART 65536

/* One name at a time: what is being written is the request for the next part, so what was found is noted by number. */
static uint32_t found[1024];
static uint32_t found_count;
static char word[256];
static uint32_t word_len;
static char name[1024];

static bool has(whim_text text) {
    for (uint32_t at = 0; at + word_len <= text.len; at++)
        if (whim_same((whim_text){text.at + at, word_len}, (whim_text){word, word_len})) return true;
    return false;
}

/* The name of document number `at`, in `name`. */
static int name_of(uint32_t at, whim_text *which) {
    whim_reader listed;
    int failed = whim_list_documents(LIBRARY, at, 1, &listed);
    if (failed < 0) return failed;
    whim_value list = whim_read(&listed), document = whim_read(&listed), text = whim_read(&listed);
    if (list.count != 1 || document.count != 2 || text.text.len > sizeof name) return WHIM_MALFORMED;
    __builtin_memcpy(name, text.text.at, text.text.len);
    *which = (whim_text){name, text.text.len};
    return 0;
}

/* Parts overlap by a word, so that none is overlooked that is cut. */
static int look_into(uint32_t at) {
    whim_text which, part;
    uint32_t from = 0, next;
    int failed = name_of(at, &which);
    while (failed == 0) {
        failed = whim_read_document(LIBRARY, which, from, PART, &part, &next);
        if (failed < 0) return failed;
        if (has(part)) {
            if (found_count < sizeof found / sizeof *found) found[found_count++] = at;
            return 0;
        }
        if (part.len + 4 <= PART) return 0;
        from = next - word_len;
    }
    return failed;
}

/* Word of `request find(Word)`. */
static bool wanted(const whim_message *message) {
    whim_reader from = whim_content(message);
    whim_value term = whim_read(&from), text = whim_read(&from);
    if (message->performative != WHIM_REQUEST || term.kind != WHIM_TERM || term.count != 1) return false;
    if (!whim_same(term.text, whim_str("find")) || text.text.len > sizeof word) return false;
    word_len = text.text.len;
    __builtin_memcpy(word, text.text.at, word_len);
    return true;
}

static int fail(const whim_message *message) {
    char room[256];
    whim_text reason = whim_reason(room, sizeof room);
    whim_reply(message, WHIM_FAILURE);
    whim_put_text(reason);
    return whim_send();
}

/* The names are put together before the answer is begun: to ask for them is to write, too. */
static int answer(const whim_message *message, uint32_t count) {
    static char names[65536];
    static uint32_t ends[sizeof found / sizeof *found];
    uint32_t len = 0;
    for (uint32_t i = 0; i < found_count; i++) {
        whim_text which;
        if (name_of(found[i], &which) < 0 || len + which.len > sizeof names) return fail(message);
        __builtin_memcpy(names + len, which.at, which.len);
        ends[i] = len += which.len;
    }
    whim_reply(message, WHIM_INFORM);
    whim_put_term(whim_str("found"), 2);
    whim_put_list(found_count);
    for (uint32_t i = 0, from = 0; i < found_count; from = ends[i++]) whim_put_text((whim_text){names + from, ends[i] - from});
    whim_put_int(count);
    return whim_send();
}

WHIM_ON_MESSAGE(message) {
    if (!wanted(message)) {
        whim_reply(message, WHIM_NOT_UNDERSTOOD);
        whim_put_text(whim_str("I find words"));
        return whim_send();
    }
    int64_t count = whim_count_documents(LIBRARY);
    if (count < 0) return fail(message);
    found_count = 0;
    for (uint32_t at = 0; at < count; at++)
        if (look_into(at) < 0) return fail(message);
    return answer(message, count);
}
