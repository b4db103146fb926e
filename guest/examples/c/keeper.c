/* Leaves notes on the nodes that it visits: note(Key, Text), look(Key), forget(Key), list(Prefix), and go(Node). */
#include <whimbrel.h>

static char note[4096];

/* Writes the keys that begin so. */
static void put_keys(whim_text prefix) {
    static char last[256], names[65536];
    static uint32_t ends[1024];
    uint32_t count = 0, used = 0, last_len = 0;
    whim_reader from;
    while (whim_storage_list(prefix, (whim_text){last, last_len}, &from) >= 0) {
        uint32_t listed = whim_read(&from).count;
        if (listed == 0) break;
        for (uint32_t i = 0; i < listed && count < sizeof ends / sizeof *ends; i++) {
            whim_text key = whim_read(&from).text;
            if (used + key.len > sizeof names) break;
            __builtin_memcpy(names + used, key.at, key.len);
            ends[count++] = used += key.len;
            __builtin_memcpy(last, key.at, last_len = key.len);
        }
        if (listed < 1000) break;
    }
    whim_put_list(count);
    for (uint32_t i = 0, at = 0; i < count; at = ends[i++]) whim_put_text((whim_text){names + at, ends[i] - at});
}

static int answer_atom(const whim_message *message, whim_text what, whim_text atom) {
    whim_reply(message, WHIM_INFORM);
    whim_put_term(whim_str("kept"), 2);
    whim_put_atom(what);
    whim_put_atom(atom);
    return whim_send();
}

static int fail(const whim_message *message) {
    char room[256];
    whim_text reason = whim_reason(room, sizeof room);
    whim_reply(message, WHIM_FAILURE);
    whim_put_text(reason);
    return whim_send();
}

WHIM_ON_MESSAGE(message) {
    whim_reader from = whim_content(message);
    whim_value term = whim_read(&from), key = whim_read(&from), text = whim_read(&from);
    whim_text what = term.text;
    if (whim_same(what, whim_str("note"))) {
        int failed = whim_storage_put(key.text, text.text.at, text.text.len);
        return failed ? fail(message) : answer_atom(message, what, whim_str("done"));
    }
    if (whim_same(what, whim_str("forget")))
        return answer_atom(message, what, whim_storage_delete(key.text) ? whim_str("nothing") : whim_str("done"));
    if (whim_same(what, whim_str("go")))
        return whim_depart(key.text) ? fail(message) : answer_atom(message, what, whim_str("going"));
    int len = whim_same(what, whim_str("look")) ? whim_storage_get(key.text, note, sizeof note) : 0;
    if (len < 0) return len == WHIM_UNKNOWN ? answer_atom(message, what, whim_str("nothing")) : fail(message);
    whim_reply(message, WHIM_INFORM);
    whim_put_term(whim_str("kept"), 2);
    whim_put_atom(what);
    if (whim_same(what, whim_str("look"))) whim_put_text((whim_text){note, (uint32_t)len});
    else put_keys(key.text);
    return whim_send();
}
