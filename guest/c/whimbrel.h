/* Agents for Whimbrel in C that run as WebAssembly: one header, no library. `whimbrel agent build agent.c` compiles
 * them.
 *
 *     #include <whimbrel.h>
 *
 *     WHIM_ON_MESSAGE(message) {
 *         whim_reply(message, WHIM_INFORM);
 *         whim_put_text(whim_str("hello"));
 *         return whim_send();
 *     }
 *
 * All the state of an agent is in its memory: static variables last, and move with it. WHIM_ON_START, WHIM_ON_MESSAGE,
 * WHIM_ON_TIMER, WHIM_ON_DEPARTURE, WHIM_ON_ARRIVAL and WHIM_ON_STOP begin a handler of an event. WHIM_MAIN begins an
 * agent that is one function, which waits by whim_receive or whim_sleep. A handler that returns an int returns 0, or a
 * number with which the agent fails.
 *
 * The interface underneath is in docs/design/wasm-agents.md.
 */
#ifndef WHIMBREL_H
#define WHIMBREL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Errors of the node's operations (negative results). */
enum whim_error {
    WHIM_DENIED = -1,    /* the policy does not grant it */
    WHIM_QUOTA = -2,     /* the agents of the node have taken all there is */
    WHIM_MALFORMED = -3, /* the message, value or name is none */
    WHIM_UNKNOWN = -4,   /* there is no such thing */
    WHIM_TIMEOUT = -5,   /* it did not come in time */
    WHIM_STAYED = -6,    /* the agent did not move */
    WHIM_FULL = -7,      /* there are too many of them already */
};

/* Performatives of messages: FIPA00037's communicative acts. */
enum whim_performative {
    WHIM_ACCEPT_PROPOSAL,
    WHIM_AGREE,
    WHIM_CANCEL,
    WHIM_CFP,
    WHIM_CONFIRM,
    WHIM_DISCONFIRM,
    WHIM_FAILURE,
    WHIM_INFORM,
    WHIM_INFORM_IF,
    WHIM_INFORM_REF,
    WHIM_NOT_UNDERSTOOD,
    WHIM_PROPAGATE,
    WHIM_PROPOSE,
    WHIM_PROXY,
    WHIM_QUERY_IF,
    WHIM_QUERY_REF,
    WHIM_REFUSE,
    WHIM_REJECT_PROPOSAL,
    WHIM_REQUEST,
    WHIM_REQUEST_WHEN,
    WHIM_REQUEST_WHENEVER,
    WHIM_SUBSCRIBE,
    WHIM_NAMED = 254, /* another: its name is a field, WHIM_PERFORMATIVE */
    WHIM_ANY = 255,   /* in a template: all of them */
};

/* Fields of messages. */
enum whim_field {
    WHIM_SENDER = 1,
    WHIM_RECEIVER,
    WHIM_CONTENT,
    WHIM_CONVERSATION,
    WHIM_REPLY_WITH,
    WHIM_IN_REPLY_TO,
    WHIM_ONTOLOGY,
    WHIM_LANGUAGE,
    WHIM_PROTOCOL,
    WHIM_ENCODING,
    WHIM_REPLY_BY,
    WHIM_REPLY_TO,
    WHIM_PERFORMATIVE,
    WHIM_USER,
    WHIM_FIELDS, /* how many numbers there are */
};

/* Kinds of values. */
enum whim_kind {
    WHIM_NULL,
    WHIM_FALSE,
    WHIM_TRUE,
    WHIM_INT,
    WHIM_DOUBLE,
    WHIM_TEXT,
    WHIM_ATOM,
    WHIM_BYTES,
    WHIM_LIST,
    WHIM_MAP,
    WHIM_RECORD,
    WHIM_TERM,
    WHIM_VARIABLE,
    WHIM_NOTHING = 255, /* what was to be read is no value */
};

/* Flags of terms. */
enum { WHIM_NEGATED = 1, WHIM_HAS_NAMESPACE = 2, WHIM_HAS_ANNOTATIONS = 4 };

/* Levels of log entries. */
enum whim_level { WHIM_DEBUG, WHIM_INFO, WHIM_WARNING, WHIM_ERROR };

/* Text or bytes somewhere in memory; not ended by a zero. */
typedef struct {
    const char *at;
    uint32_t len;
} whim_text;

/* Reader: the bytes between `at` and `end` are still to be read. */
typedef struct {
    const uint8_t *at;
    const uint8_t *end;
} whim_reader;

/* Value, or its beginning: the parts of a list, map, record or term are read after it. */
typedef struct {
    enum whim_kind kind;
    uint8_t flags;       /* of a term */
    uint32_t count;      /* of the elements, pairs, fields or arguments that follow */
    int64_t integer;     /* of WHIM_INT, and of WHIM_DOUBLE without a fraction: agents in AgentSpeak only have doubles */
    double number;       /* of WHIM_DOUBLE, and of WHIM_INT */
    whim_text text;      /* of a text, atom, bytes or variable; the name of a record, the functor of a term */
    whim_text namespace; /* of a term */
} whim_value;

/* Received message. It lasts as long as the call that brought it; one that was taken or received lasts until the next
 * is. */
typedef struct {
    enum whim_performative performative;
    whim_text field[WHIM_FIELDS]; /* the first of each, as its bytes */
    whim_reader all;              /* all fields, for those that may be there several times: whim_next_field */
} whim_message;

/* ---- operations of the node: see docs/design/wasm-agents.md ---- */

#define WHIM_IMPORT(name) __attribute__((import_module("whim"), import_name(name)))
#define WHIM_EXPORT(name) __attribute__((export_name(name), visibility("default")))

WHIM_IMPORT("send") int whim__send(const void *, uint32_t);
WHIM_IMPORT("take") int whim__take(const void *, uint32_t);
WHIM_IMPORT("read") int whim__read(void *, uint32_t);
WHIM_IMPORT("reason") int whim__reason(void *, uint32_t);
WHIM_IMPORT("name") int whim__name(void *, uint32_t);
WHIM_IMPORT("node") int whim__node(void *, uint32_t);
WHIM_IMPORT("timer") int whim__timer(int64_t, int64_t);
WHIM_IMPORT("cancel") int whim__cancel(int64_t);
WHIM_IMPORT("timer_left") int64_t whim__timer_left(int64_t);
WHIM_IMPORT("now") int64_t whim__now(void);
WHIM_IMPORT("random") int whim__random(void *, uint32_t);
WHIM_IMPORT("log") void whim__log(int, const void *, uint32_t);
WHIM_IMPORT("print") void whim__print(const void *, uint32_t);
WHIM_IMPORT("register") int whim__register(const void *, uint32_t, const void *, uint32_t);
WHIM_IMPORT("deregister") int whim__deregister(const void *, uint32_t, const void *, uint32_t);
WHIM_IMPORT("search") int whim__search(const void *, uint32_t, const void *, uint32_t);
WHIM_IMPORT("exists") int whim__exists(const void *, uint32_t);
WHIM_IMPORT("join") int whim__join(const void *, uint32_t);
WHIM_IMPORT("leave") int whim__leave(const void *, uint32_t);
WHIM_IMPORT("act") int whim__act(const void *, uint32_t, const void *, uint32_t);
WHIM_IMPORT("storage_get") int whim__storage_get(const void *, uint32_t);
WHIM_IMPORT("storage_put") int whim__storage_put(const void *, uint32_t, const void *, uint32_t);
WHIM_IMPORT("storage_delete") int whim__storage_delete(const void *, uint32_t);
WHIM_IMPORT("storage_list") int whim__storage_list(const void *, uint32_t, const void *, uint32_t);
WHIM_IMPORT("depart") int whim__depart(const void *, uint32_t);
WHIM_IMPORT("depart_clone") int whim__depart_clone(const void *, uint32_t, const void *, uint32_t);
WHIM_IMPORT("discard") void whim__discard(const void *, uint32_t);
WHIM_IMPORT("recalled") int whim__recalled(void);
WHIM_IMPORT("set_lifetime") int whim__set_lifetime(int64_t);
WHIM_IMPORT("life") int64_t whim__life(void);
WHIM_IMPORT("on_failure") int whim__on_failure(const void *, uint32_t);
WHIM_IMPORT("stop") void whim__stop(void);
WHIM_IMPORT("receive") int whim__receive(const void *, uint32_t, int64_t);
WHIM_IMPORT("sleep") void whim__sleep(int64_t);
WHIM_IMPORT("move_to") int whim__move_to(const void *, uint32_t);
WHIM_IMPORT("clone_to") int whim__clone_to(const void *, uint32_t, const void *, uint32_t);

/* ---- texts ---- */

/* Literal as a text. */
#define whim_str(literal) ((whim_text){(literal), sizeof(literal) - 1})

static inline bool whim_same(whim_text one, whim_text other) {
    if (one.len != other.len) return false;
    for (uint32_t i = 0; i < one.len; i++)
        if (one.at[i] != other.at[i]) return false;
    return true;
}

/* ---- rooms: memory that is allocated once, kept, and enlarged when it is too small ---- */

typedef struct {
    uint8_t *at;
    uint32_t len;
    uint32_t cap;
} whim__room;

/* Size of a room at first: most messages fit into it. */
#define WHIM__SMALL 512
static uint8_t whim__small[3][WHIM__SMALL];
static whim__room whim__inbox = {whim__small[0], 0, WHIM__SMALL}; /* what the node hands over */
static whim__room whim__out = {whim__small[1], 0, WHIM__SMALL};   /* what is being written */
static whim__room whim__got = {whim__small[2], 0, WHIM__SMALL};   /* what was fetched */

/* Enlarges a room to `cap` bytes at least, with its content. Ends the agent if there is no memory. */
static void whim__enlarge(whim__room *room, uint32_t cap) {
    if (cap <= room->cap) return;
    if (cap < 2 * room->cap) cap = 2 * room->cap;
    uint32_t pages = cap / 65536 + 1;
    size_t page = __builtin_wasm_memory_grow(0, pages);
    if (page == (size_t)-1) __builtin_trap();
    uint8_t *at = (uint8_t *)(page * 65536);
    __builtin_memcpy(at, room->at, room->len);
    room->at = at;
    room->cap = pages * 65536;
}

WHIM_EXPORT("whim_abi") int whim__abi(void) { return 1; }

WHIM_EXPORT("whim_inbox") void *whim__inbox_of(uint32_t len) {
    whim__enlarge(&whim__inbox, len);
    return whim__inbox.at;
}

/* ---- reading ---- */

static inline uint32_t whim__u32(const uint8_t *at) {
    uint32_t number;
    __builtin_memcpy(&number, at, sizeof number);
    return number;
}

static inline bool whim__has(whim_reader *from, uint32_t len) { return (uint32_t)(from->end - from->at) >= len; }

static inline bool whim__read_count(whim_reader *from, uint32_t *count) {
    if (!whim__has(from, 4)) return false;
    *count = whim__u32(from->at);
    from->at += 4;
    return true;
}

/* Reads the name of a field of a record, which stands before its value. */
static inline bool whim_read_name(whim_reader *from, whim_text *name) {
    uint32_t len;
    if (!whim__read_count(from, &len) || !whim__has(from, len)) return false;
    *name = (whim_text){(const char *)from->at, len};
    from->at += len;
    return true;
}

static inline bool whim__read_term(whim_reader *from, whim_value *value) {
    if (!whim__has(from, 1)) return false;
    value->flags = *from->at++;
    if (!whim_read_name(from, &value->text)) return false;
    if ((value->flags & WHIM_HAS_NAMESPACE) && !whim_read_name(from, &value->namespace)) return false;
    return whim__read_count(from, &value->count);
}

static inline bool whim__read_number(whim_reader *from, whim_value *value) {
    if (!whim__has(from, 8)) return false;
    if (value->kind == WHIM_INT) {
        __builtin_memcpy(&value->integer, from->at, 8);
        value->number = (double)value->integer;
    } else {
        __builtin_memcpy(&value->number, from->at, 8);
        value->integer = (int64_t)value->number;
    }
    from->at += 8;
    return true;
}

static inline bool whim__read_rest(whim_reader *from, whim_value *value) {
    switch (value->kind) {
    case WHIM_NULL: case WHIM_FALSE: case WHIM_TRUE: return true;
    case WHIM_INT: case WHIM_DOUBLE: return whim__read_number(from, value);
    case WHIM_TEXT: case WHIM_ATOM: case WHIM_BYTES: case WHIM_VARIABLE: return whim_read_name(from, &value->text);
    case WHIM_LIST: case WHIM_MAP: return whim__read_count(from, &value->count);
    case WHIM_RECORD: return whim_read_name(from, &value->text) && whim__read_count(from, &value->count);
    case WHIM_TERM: return whim__read_term(from, value);
    default: return false;
    }
}

/* Reads the next value; its kind is WHIM_NOTHING if there is none. Further calls read its parts: the elements of a
 * list; the key and value of each pair of a map; the name (whim_read_name) and value of each field of a record; the
 * arguments of a term, then, if it has annotations, their count (whim_read_annotations) and themselves. */
static inline whim_value whim_read(whim_reader *from) {
    whim_value value = {.kind = WHIM_NOTHING};
    if (!whim__has(from, 1)) return value;
    value.kind = *from->at++;
    if (!whim__read_rest(from, &value)) {
        value.kind = WHIM_NOTHING;
        from->at = from->end;
    }
    return value;
}

/* Reads the count of annotations, after the last argument of a term that has some. */
static inline uint32_t whim_read_annotations(whim_reader *from) {
    uint32_t count = 0;
    whim__read_count(from, &count);
    return count;
}

static inline bool whim__read_message(whim_message *message, const uint8_t *at, uint32_t len) {
    *message = (whim_message){0};
    if (len == 0) return false;
    message->performative = *at;
    message->all = (whim_reader){at + 1, at + len};
    for (whim_reader from = message->all; from.at < from.end;) {
        whim_text field;
        uint8_t which = *from.at++;
        if (!whim_read_name(&from, &field)) return false;
        if (which < WHIM_FIELDS && message->field[which].at == NULL) message->field[which] = field;
    }
    return true;
}

/* Reads the next field of a message's `all`. Returns its kind; 0 after the last. */
static inline uint8_t whim_next_field(whim_reader *all, whim_text *field) {
    if (!whim__has(all, 1)) return 0;
    uint8_t which = *all->at++;
    return whim_read_name(all, field) ? which : 0;
}

/* Reads the content of a message. */
static inline whim_reader whim_content(const whim_message *message) {
    whim_text content = message->field[WHIM_CONTENT];
    return (whim_reader){(const uint8_t *)content.at, (const uint8_t *)content.at + content.len};
}

/* ---- writing: one message, template or value at a time ---- */

static uint32_t whim__open; /* where the length of the field stands that is being written; 0 if none is */

static inline void whim__put(const void *bytes, uint32_t len) {
    whim__enlarge(&whim__out, whim__out.len + len);
    __builtin_memcpy(whim__out.at + whim__out.len, bytes, len);
    whim__out.len += len;
}

static inline void whim__put_byte(uint8_t byte) { whim__put(&byte, 1); }
static inline void whim__put_count(uint32_t count) { whim__put(&count, 4); }

static inline void whim__close(void) {
    if (whim__open == 0) return;
    uint32_t len = whim__out.len - whim__open - 4;
    __builtin_memcpy(whim__out.at + whim__open, &len, 4);
    whim__open = 0;
}

/* Begins a field whose value is written next. */
static inline void whim_open_field(enum whim_field which) {
    whim__close();
    whim__put_byte(which);
    whim__open = whim__out.len;
    whim__put_count(0);
}

/* Begins a value that is no message's content: for whim_act. */
static inline void whim_begin_value(void) {
    whim__out.len = 0;
    whim__open = 0;
}

/* Begins a message, or a template (of any performative: WHIM_ANY). Its fields follow, then whim_send. */
static inline void whim_begin(enum whim_performative performative) {
    whim_begin_value();
    whim__put_byte(performative);
}

/* Writes a field that is text. */
static inline void whim_put_field(enum whim_field which, whim_text text) {
    whim_open_field(which);
    whim__put(text.at, text.len);
    whim__close();
}

/* Begins the content: one value, which is written next. */
static inline void whim_begin_content(void) { whim_open_field(WHIM_CONTENT); }

/* Begins a message to `receiver`; its content is written next. */
static inline void whim_begin_to(whim_text receiver, enum whim_performative performative) {
    whim_begin(performative);
    whim_put_field(WHIM_RECEIVER, receiver);
    whim_begin_content();
}

/* Begins the reply to a message; its content is written next. The reply goes to the message's :reply-to or sender, in
 * its conversation, protocol, ontology, language and encoding, and quotes its :reply-with. */
static inline void whim_reply(const whim_message *message, enum whim_performative performative) {
    static const uint8_t kept[] = {WHIM_CONVERSATION, WHIM_ONTOLOGY, WHIM_LANGUAGE, WHIM_PROTOCOL, WHIM_ENCODING};
    bool redirected = false;
    whim_text field;
    uint8_t which;
    whim_begin(performative);
    for (whim_reader all = message->all; (which = whim_next_field(&all, &field)) != 0;) {
        if (which != WHIM_REPLY_TO) continue;
        whim_put_field(WHIM_RECEIVER, field);
        redirected = true;
    }
    if (!redirected) whim_put_field(WHIM_RECEIVER, message->field[WHIM_SENDER]);
    if (message->field[WHIM_REPLY_WITH].at) whim_put_field(WHIM_IN_REPLY_TO, message->field[WHIM_REPLY_WITH]);
    for (uint32_t i = 0; i < sizeof kept; i++)
        if (message->field[kept[i]].at) whim_put_field(kept[i], message->field[kept[i]]);
    whim_begin_content();
}

static inline void whim__put_tagged(enum whim_kind kind, whim_text text) {
    whim__put_byte(kind);
    whim__put_count(text.len);
    whim__put(text.at, text.len);
}

static inline void whim_put_null(void) { whim__put_byte(WHIM_NULL); }
static inline void whim_put_bool(bool truth) { whim__put_byte(truth ? WHIM_TRUE : WHIM_FALSE); }
static inline void whim_put_text(whim_text text) { whim__put_tagged(WHIM_TEXT, text); }
static inline void whim_put_atom(whim_text name) { whim__put_tagged(WHIM_ATOM, name); }
static inline void whim_put_bytes(whim_text bytes) { whim__put_tagged(WHIM_BYTES, bytes); }
static inline void whim_put_variable(whim_text name) { whim__put_tagged(WHIM_VARIABLE, name); }

static inline void whim_put_int(int64_t number) {
    whim__put_byte(WHIM_INT);
    whim__put(&number, 8);
}

static inline void whim_put_double(double number) {
    whim__put_byte(WHIM_DOUBLE);
    whim__put(&number, 8);
}

/* Begins a list: its elements follow. */
static inline void whim_put_list(uint32_t count) {
    whim__put_byte(WHIM_LIST);
    whim__put_count(count);
}

/* Begins a map: the key and value of each pair follow. */
static inline void whim_put_map(uint32_t count) {
    whim__put_byte(WHIM_MAP);
    whim__put_count(count);
}

/* Begins a record: the name (whim_put_name) and value of each field follow. */
static inline void whim_put_record(whim_text name, uint32_t count) {
    whim__put_tagged(WHIM_RECORD, name);
    whim__put_count(count);
}

/* Writes the name of a field of a record. */
static inline void whim_put_name(whim_text name) {
    whim__put_count(name.len);
    whim__put(name.at, name.len);
}

/* Begins a term with everything that it may have, by its flags. Its arguments follow, then, if WHIM_HAS_ANNOTATIONS is
 * set, their count (whim_put_annotations) and themselves. `namespace` counts if WHIM_HAS_NAMESPACE is set. */
static inline void whim_put_full_term(uint8_t flags, whim_text functor, whim_text namespace, uint32_t count) {
    whim__put_byte(WHIM_TERM);
    whim__put_byte(flags);
    whim_put_name(functor);
    if (flags & WHIM_HAS_NAMESPACE) whim_put_name(namespace);
    whim__put_count(count);
}

/* Begins a term `functor(arguments)`: the arguments follow. */
static inline void whim_put_term(whim_text functor, uint32_t count) { whim_put_full_term(0, functor, functor, count); }
static inline void whim_put_annotations(uint32_t count) { whim__put_count(count); }

/* Sends the written message. Returns 0, or an error. */
static inline int whim_send(void) {
    whim__close();
    return whim__send(whim__out.at, whim__out.len);
}

/* Has the written message sent if the agent ends against its will: it traps, exceeds a quota, outlives its time, or is
 * killed. The content becomes the reason, a text. The message travels along; clones have none. Returns 0, or an
 * error. */
static inline int whim_on_failure(void) {
    whim__close();
    return whim__on_failure(whim__out.at, whim__out.len);
}

/* ---- further operations of an agent ---- */

/* Fetches the result whose length the last call returned, to be read by `from`. */
static inline int whim__fetch(int len, whim_reader *from) {
    if (len < 0) return len;
    whim__enlarge(&whim__got, len);
    whim__read(whim__got.at, len);
    *from = (whim_reader){whim__got.at, whim__got.at + len};
    return len;
}

static inline int whim__fetch_message(int len, whim_message *message) {
    whim_reader from;
    len = whim__fetch(len, &from);
    if (len < 0) return len;
    return whim__read_message(message, from.at, len) ? 0 : WHIM_MALFORMED;
}

/* Takes the oldest waiting message that fits the written template. Returns 0, or WHIM_UNKNOWN if none fits. */
static inline int whim_take(whim_message *message) {
    whim__close();
    return whim__fetch_message(whim__take(whim__out.at, whim__out.len), message);
}

/* Waits, in the middle of anything, for a message that fits the written template. The time is in milliseconds; a
 * negative one means for ever. Returns 0, or WHIM_TIMEOUT. */
static inline int whim_receive(whim_message *message, int64_t ms) {
    whim__close();
    return whim__fetch_message(whim__receive(whim__out.at, whim__out.len, ms), message);
}

/* Waits so many milliseconds, in the middle of anything. */
static inline void whim_sleep(int64_t ms) { whim__sleep(ms); }

/* Moves to a node in the middle of anything, and continues there. Returns 0, or WHIM_STAYED. */
static inline int whim_move_to(whim_text node) { return whim__move_to(node.at, node.len); }

/* Leaves a copy under this name (empty: a new one) on a node. Both continue here: returns 0 to the agent that called, 1
 * to the copy. */
static inline int whim_clone_to(whim_text node, whim_text name) {
    return whim__clone_to(node.at, node.len, name.at, name.len);
}

/* Moves to a node when this call is over: WHIM_ON_ARRIVAL comes next. */
static inline int whim_depart(whim_text node) { return whim__depart(node.at, node.len); }

/* Leaves a copy on a node when this call is over. */
static inline int whim_depart_clone(whim_text node, whim_text name) {
    return whim__depart_clone(node.at, node.len, name.at, name.len);
}

static inline whim_text whim__shown(char *room, uint32_t cap, int len) {
    return (whim_text){room, len < 0 ? 0 : (uint32_t)len < cap ? (uint32_t)len : cap};
}

/* Writes to `room`: the agent's name `agent@platform`, its node, the reason of the last negative result. */
static inline whim_text whim_name(char *room, uint32_t cap) { return whim__shown(room, cap, whim__name(room, cap)); }
static inline whim_text whim_node(char *room, uint32_t cap) { return whim__shown(room, cap, whim__node(room, cap)); }
static inline whim_text whim_reason(char *room, uint32_t cap) { return whim__shown(room, cap, whim__reason(room, cap)); }

/* Has WHIM_ON_TIMER called with `tag` after so many milliseconds. Each tag has one timer: a later call sets it anew. */
static inline int whim_timer(int64_t ms, int64_t tag) { return whim__timer(ms, tag); }
static inline int whim_cancel(int64_t tag) { return whim__cancel(tag); }
/* Returns the milliseconds until the timer of this tag is due, or WHIM_UNKNOWN if none is set. */
static inline int64_t whim_timer_left(int64_t tag) { return whim__timer_left(tag); }
/* Returns the milliseconds since 1970, or WHIM_DENIED. */
static inline int64_t whim_now(void) { return whim__now(); }
static inline int whim_random(void *at, uint32_t len) { return whim__random(at, len); }
static inline void whim_log(enum whim_level level, whim_text text) { whim__log(level, text.at, text.len); }
static inline void whim_print(whim_text line) { whim__print(line.at, line.len); }
static inline int whim_register(whim_text service, whim_text kind) {
    return whim__register(service.at, service.len, kind.at, kind.len);
}
static inline int whim_deregister(whim_text service, whim_text kind) {
    return whim__deregister(service.at, service.len, kind.at, kind.len);
}
/* Searches the agents that offer a service (empty: any): a list of names, to be read from `found`. Returns its length
 * in bytes, or an error. */
static inline int whim_search(whim_text service, whim_text kind, whim_reader *found) {
    return whim__fetch(whim__search(service.at, service.len, kind.at, kind.len), found);
}
static inline int whim_exists(whim_text agent) { return whim__exists(agent.at, agent.len); }
/* Joins a topic (topic:NAME) or group (group:NAME). */
static inline int whim_join(whim_text topic) { return whim__join(topic.at, topic.len); }
static inline int whim_leave(whim_text topic) { return whim__leave(topic.at, topic.len); }
/* Has an environment carry out the written action (whim_begin_value). The result is to be read from `result`. */
static inline int whim_act(whim_text environment, whim_reader *result) {
    return whim__fetch(whim__act(environment.at, environment.len, whim__out.at, whim__out.len), result);
}
/* ---- documents that the node offers by a name: whimbrel run --offer NAME=FOLDER ---- */

/* Returns the number of documents; negative if the node has none, or they are not granted. */
static inline int64_t whim_count_documents(whim_text environment) {
    whim_reader from;
    whim_begin_value();
    whim_put_atom(whim_str("count"));
    int failed = whim_act(environment, &from);
    if (failed < 0) return failed;
    whim_value count = whim_read(&from);
    return count.kind == WHIM_INT ? count.integer : WHIM_MALFORMED;
}

/* Lists at most `count` documents in the order of their names, from the `first` (from 0): a list of document(Name,
 * Bytes), to be read from `listed`. Returns its length in bytes, or an error. */
static inline int whim_list_documents(whim_text environment, uint32_t first, uint32_t count, whim_reader *listed) {
    whim_begin_value();
    whim_put_term(whim_str("list"), 2);
    whim_put_int(first);
    whim_put_int(count);
    return whim_act(environment, listed);
}

/* Reads at most `count` bytes of a document, from byte `from` on. They are in `part` until the next call; `*next` is
 * the number of the next byte, which is the document's length after the last part. Returns 0, or an error. */
static inline int whim_read_document(whim_text environment, whim_text name, uint32_t from, uint32_t count, whim_text *part,
                                     uint32_t *next) {
    whim_reader answer;
    whim_begin_value();
    whim_put_term(whim_str("read"), 3);
    whim_put_text(name);
    whim_put_int(from);
    whim_put_int(count);
    int failed = whim_act(environment, &answer);
    if (failed < 0) return failed;
    whim_value term = whim_read(&answer), content = whim_read(&answer), end = whim_read(&answer);
    if (term.kind != WHIM_TERM || term.count != 2 || end.kind != WHIM_INT) return WHIM_MALFORMED;
    *part = content.text;
    *next = (uint32_t)end.integer;
    return 0;
}

/* ---- storage of this agent and its clones on their present node: [[grant]] storage in its policy. It stays there when
 * they leave ---- */

/* Writes as much of a key's value to `room` as fits. Returns the value's length, or an error (WHIM_UNKNOWN: no
 * value). */
static inline int whim_storage_get(whim_text key, void *room, uint32_t cap) {
    int len = whim__storage_get(key.at, key.len);
    return len < 0 ? len : whim__read(room, cap);
}
/* Stores a value under a key, in place of the former one. Returns 0, or an error. */
static inline int whim_storage_put(whim_text key, const void *value, uint32_t len) {
    return whim__storage_put(key.at, key.len, value, len);
}
/* Deletes a key. Returns 0, or an error. */
static inline int whim_storage_delete(whim_text key) { return whim__storage_delete(key.at, key.len); }
/* Lists up to 1,000 keys that begin with `prefix` and follow `after` (empty: from the first), to be read from `keys`.
 * Returns the list's length in bytes, or an error. */
static inline int whim_storage_list(whim_text prefix, whim_text after, whim_reader *keys) {
    return whim__fetch(whim__storage_list(prefix.at, prefix.len, after.at, after.len), keys);
}

/* Discards the content of memory, which need not travel. */
static inline void whim_discard(const void *at, uint32_t len) { whim__discard(at, len); }
/* Returns the number of times that the agent was called home. A whim_itinerary heeds that by itself. */
static inline int whim_recalls(void) { return whim__recalled(); }
/* Limits the life of the agent and of copies that it makes: they end after so many milliseconds, on any node. Returns
 * 0, or WHIM_DENIED in durable societies, whose agents have no limit of life. */
static inline int whim_set_lifetime(int64_t ms) { return whim__set_lifetime(ms); }
/* Returns a number that tells this agent from earlier and later agents of its name. The number never changes; clones
 * have others. */
static inline uint64_t whim_life(void) { return (uint64_t)whim__life(); }
/* Ends the agent when this call is over, or waits. Sent messages leave; a requested move or copy is dropped. */
static inline void whim_end(void) { whim__stop(); }

/* ---- itineraries: the stops of a journey, each with a task, and with alternatives in case its node is dead ----
 *
 *     static const whim_text north[] = {whim_str("north")}, south[] = {whim_str("south"), whim_str("south-mirror")};
 *     static const whim_stop stops[] = {{north, 1, READ}, {south, 2, COUNT}};
 *     static whim_itinerary tour = {.stops = stops, .count = 2, .within_ms = 60000, .returning = true};
 *     while (whim_next_stop(&tour)) work(tour.task, tour.node);
 *     if (tour.ended == WHIM_TOUR_RECALLED) whim_print(whim_str("somebody called me home"));
 *
 * Stops and their names must stay in place until the journey is over. The agent moves in the middle of its call, as with
 * whim_move_to. */

/* Maximal length of a node's name; and number of missed nodes whose reasons a journey keeps. */
#define WHIM_NODE_BYTES_MAX 64
#ifndef WHIM_MISSED_MAX
#define WHIM_MISSED_MAX 16
#endif
#define WHIM__REASON_BYTES 96

/* Stop of a journey: nodes by preference, their count, and the task on the first of them that can be reached. */
typedef struct {
    const whim_text *nodes;
    uint32_t count;
    int64_t task;
} whim_stop;

/* Reason why a journey is over. */
enum whim_tour_end {
    WHIM_ON_TOUR,          /* it is not */
    WHIM_TOUR_DONE,        /* there is no further stop */
    WHIM_TOUR_LATE,        /* there is no time for a further stop */
    WHIM_TOUR_RECALLED,    /* somebody called the agent home */
    WHIM_TOUR_NO_WAY_BACK, /* it was to go back, but cannot: `no_way_back` says why */
};

/* Node that a journey missed, with the beginning of the reason. */
typedef struct {
    whim_text node;
    char why[WHIM__REASON_BYTES];
    uint32_t why_len;
} whim_missed;

typedef struct {
    /* Set by the agent: the stops; the time limit in milliseconds from the first whim_next_stop (0: none); and whether
     * the journey ends where it began, or on the first of these nodes that can be reached. */
    const whim_stop *stops;
    uint32_t count;
    int64_t within_ms;
    bool returning;
    const whim_text *homes;
    uint32_t homes_count;
    /* Present node, and task of the stop. */
    whim_text node;
    int64_t task;
    /* Reason why the journey is over. */
    enum whim_tour_end ended;
    /* Number of missed nodes, and the first of them. */
    uint32_t missed_count;
    whim_missed missed[WHIM_MISSED_MAX];
    /* Last node that the agent tried when it could not go back. */
    whim_missed no_way_back;
    /* Private. */
    bool begun;
    uint32_t next;
    int recalls;
    int64_t tag;
    char start[WHIM_NODE_BYTES_MAX];
    whim_text start_node;
} whim_itinerary;

/* Number of journeys with a time limit: their timers have the lowest tags. */
static int64_t whim__timed_tours;

static inline bool whim__is_on(whim_text node) {
    char room[WHIM_NODE_BYTES_MAX];
    return whim_same(node, whim_node(room, sizeof room));
}

static inline bool whim__come_to(whim_text node, whim_missed *missed) {
    if (whim__is_on(node)) return true;
    if (whim_move_to(node) == 0) return true;
    if (missed) {
        missed->node = node;
        missed->why_len = whim_reason(missed->why, sizeof missed->why).len;
    }
    return false;
}

static inline void whim__finish_tour(whim_itinerary *tour, enum whim_tour_end how) {
    tour->ended = how;
    if (tour->within_ms > 0) whim_cancel(tour->tag);
}

static inline bool whim__is_recalled(whim_itinerary *tour) {
    if (whim_recalls() == tour->recalls) return false;
    whim__finish_tour(tour, WHIM_TOUR_RECALLED);
    return true;
}

static inline bool whim__end_tour(whim_itinerary *tour, enum whim_tour_end how) {
    const whim_text *homes = tour->returning ? &tour->start_node : tour->homes;
    uint32_t count = tour->returning ? 1 : tour->homes_count;
    whim__finish_tour(tour, how);
    for (uint32_t i = 0; i < count; i++) {
        bool came = whim__come_to(homes[i], &tour->no_way_back);
        if (whim__is_recalled(tour) || came) return false;
    }
    if (count > 0) tour->ended = WHIM_TOUR_NO_WAY_BACK;
    return false;
}

static inline void whim__begin_tour(whim_itinerary *tour) {
    tour->begun = true;
    tour->recalls = whim_recalls();
    tour->start_node = whim_node(tour->start, sizeof tour->start);
    if (tour->within_ms <= 0) return;
    tour->tag = INT64_MIN + whim__timed_tours++;
    if (whim_timer(tour->within_ms, tour->tag) < 0) __builtin_trap();
}

static inline bool whim__is_late(const whim_itinerary *tour) { return tour->within_ms > 0 && whim_timer_left(tour->tag) <= 0; }

/* Begins the journey, or continues it from a stop. Returns true if the agent is at the next stop, false if the journey
 * is over. */
static inline bool whim_next_stop(whim_itinerary *tour) {
    if (!tour->begun) whim__begin_tour(tour);
    if (tour->ended != WHIM_ON_TOUR || whim__is_recalled(tour)) return false;
    if (whim__is_late(tour)) return whim__end_tour(tour, WHIM_TOUR_LATE);
    while (tour->next < tour->count) {
        const whim_stop *stop = &tour->stops[tour->next++];
        for (uint32_t i = 0; i < stop->count; i++) {
            /* Waiting for dead nodes may have taken long. */
            if (whim__is_late(tour)) return whim__end_tour(tour, WHIM_TOUR_LATE);
            uint32_t at = tour->missed_count;
            bool came = whim__come_to(stop->nodes[i], at < WHIM_MISSED_MAX ? &tour->missed[at] : NULL);
            if (whim__is_recalled(tour)) return false;
            if (came) {
                tour->node = stop->nodes[i];
                tour->task = stop->task;
                return true;
            }
            tour->missed_count++;
        }
    }
    return whim__end_tour(tour, WHIM_TOUR_DONE);
}

/* ---- minions: a copy of the agent does one task on another node, and nothing is left there ----
 *
 *     whim_minion minion;
 *     switch (whim_dispatch(&minion, nodes, 2, 5000)) {
 *     case 1: // the minion, on the other node
 *         count = work();
 *         whim_report(&minion, WHIM_INFORM);
 *         whim_put_int(count);
 *         return whim_send();
 *     case 0: // its sender: minion.answer came back
 *     }
 */

/* Maximal length of an agent's name, of what its minions' answers quote, of `@` and of the platform's name together. */
#define WHIM__NAME_BYTES 512

typedef struct {
    /* Answer of the minion: an inform, or a failure. It lasts until the next message is taken or received. */
    whim_message answer;
    /* Private. */
    char room[WHIM__NAME_BYTES + 32];
    whim_text sender, id;
} whim_minion;

static uint32_t whim__minions;

/* Writes the sender of a minion, and the text that its answer quotes: the sender's name, its life in 16 digits, as
 * others may have had its name before, and a number of eight digits. */
static inline bool whim__name_minion(whim_minion *minion) {
    static const char digits[] = "0123456789abcdef";
    minion->sender = whim_name(minion->room, WHIM__NAME_BYTES);
    uint32_t len = minion->sender.len;
    if (len == WHIM__NAME_BYTES) return false;
    whim__minions++;
    uint64_t life = whim_life();
    minion->room[len] = '#';
    for (uint32_t i = 0; i < 16; i++) minion->room[len + 1 + i] = digits[(life >> (60 - 4 * i)) & 15];
    for (uint32_t i = 0; i < 8; i++) minion->room[len + 17 + i] = digits[(whim__minions >> (28 - 4 * i)) & 15];
    minion->id = (whim_text){minion->room, len + 25};
    return true;
}

/* Sends a copy of the agent to the first of these nodes that can be reached. The copy continues from here, and gets 1:
 * it does its work, reports it (whim_report), and ends with its present call. It lives no longer than so many
 * milliseconds, even if nobody waits for it any more. Its sender waits, and gets 0 when `answer` has come,
 * WHIM_TIMEOUT, or the error of the move. */
static inline int whim_dispatch(whim_minion *minion, const whim_text *nodes, uint32_t count, int64_t ms) {
    int which = WHIM_UNKNOWN;
    if (!whim__name_minion(minion)) return WHIM_MALFORMED;
    for (uint32_t i = 0; i < count && which < 0; i++) which = whim_clone_to(nodes[i], whim_str(""));
    if (which == 1) {
        whim_set_lifetime(ms);
        /* If the minion fails, its sender need not wait until the time is over. */
        whim_begin(WHIM_FAILURE);
        whim_put_field(WHIM_RECEIVER, minion->sender);
        whim_put_field(WHIM_IN_REPLY_TO, minion->id);
        whim_on_failure();
    }
    if (which != 0) return which;
    whim_begin(WHIM_ANY);
    whim_put_field(WHIM_IN_REPLY_TO, minion->id);
    return whim_receive(&minion->answer, ms);
}

/* Begins the minion's answer (WHIM_INFORM, or WHIM_FAILURE): the content is written next, and sent by whim_send. The
 * minion ends when this call is over. */
static inline void whim_report(const whim_minion *minion, enum whim_performative performative) {
    whim_end();
    whim_begin(performative);
    whim_put_field(WHIM_RECEIVER, minion->sender);
    whim_put_field(WHIM_IN_REPLY_TO, minion->id);
    whim_begin_content();
}

/* ---- handlers ---- */

/* Handler of the start: `options`, a map, are to be read from the whim_reader. */
#define WHIM_ON_START(options)                                                                                                 \
    static int whim__on_start(whim_reader *);                                                                                  \
    WHIM_EXPORT("whim_start") int whim__start(const uint8_t *at, uint32_t len) {                                               \
        whim_reader from = {at, at + len};                                                                                     \
        return whim__on_start(&from);                                                                                          \
    }                                                                                                                          \
    static int whim__on_start(whim_reader *options)

/* Handler of a message. */
#define WHIM_ON_MESSAGE(message)                                                                                               \
    static int whim__on_message(const whim_message *);                                                                         \
    WHIM_EXPORT("whim_handle") int whim__handle(const uint8_t *at, uint32_t len) {                                             \
        whim_message read;                                                                                                     \
        return whim__read_message(&read, at, len) ? whim__on_message(&read) : WHIM_MALFORMED;                                  \
    }                                                                                                                          \
    static int whim__on_message(const whim_message *message)

/* Agent that is one function. The agent ends with it. */
#define WHIM_MAIN(options)                                                                                                     \
    static int whim__main(whim_reader *);                                                                                      \
    WHIM_ON_START(whim__options) {                                                                                             \
        int outcome = whim__main(whim__options);                                                                               \
        whim_end();                                                                                                            \
        return outcome;                                                                                                        \
    }                                                                                                                          \
    WHIM_EXPORT("whim_handle") int whim__handle(const uint8_t *at, uint32_t len) { return 0; }                                 \
    static int whim__main(whim_reader *options)

/* Handler of a timer. */
#define WHIM_ON_TIMER(tag)                                                                                                     \
    static int whim__on_timer(int64_t);                                                                                        \
    WHIM_EXPORT("whim_timer") int whim__timer_due(int64_t due) {                                                               \
        return due < INT64_MIN + whim__timed_tours ? 0 : whim__on_timer(due); /* an itinerary's, which asks for it */          \
    }                                                                                                                          \
    static int whim__on_timer(int64_t tag)

/* Handler of a departure. */
#define WHIM_ON_DEPARTURE()                                                                                                    \
    WHIM_EXPORT("whim_before_move") void whim__before_move(void)

/* Handler of an arrival, or of the news that the agent stayed: a map with "from", "to", "clone"; with "reason" if it
 * stayed, and "recalled" if it was called home; to be read from the whim_reader. */
#define WHIM_ON_ARRIVAL(arrival)                                                                                               \
    static int whim__on_arrival(whim_reader *);                                                                                \
    WHIM_EXPORT("whim_after_move") int whim__after_move(const uint8_t *at, uint32_t len) {                                     \
        whim_reader from = {at, at + len};                                                                                     \
        return whim__on_arrival(&from);                                                                                        \
    }                                                                                                                          \
    static int whim__on_arrival(whim_reader *arrival)

/* Handler of the end by another's will. */
#define WHIM_ON_STOP()                                                                                                         \
    WHIM_EXPORT("whim_stop") void whim__stopping(void)

#endif
