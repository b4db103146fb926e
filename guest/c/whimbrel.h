/* Write agents for Whimbrel in C that run as WebAssembly: one header, no library. `whimbrel agent build agent.c` compiles them.
 *
 *     #include <whimbrel.h>
 *
 *     WHIM_ON_MESSAGE(message) {
 *         whim_reply(message, WHIM_INFORM);
 *         whim_put_text(whim_str("hello"));
 *         return whim_send();
 *     }
 *
 * Everything that an agent knows is in its memory: static variables last, and move with it. What the agent does when something
 * happens stands behind one of WHIM_ON_START, WHIM_ON_MESSAGE, WHIM_ON_TIMER, WHIM_ON_DEPARTURE, WHIM_ON_ARRIVAL, WHIM_ON_STOP;
 * an agent that is one function, which waits by whim_receive or whim_sleep, stands behind WHIM_MAIN. Those that return an int
 * return 0, or a number that the agent fails with.
 *
 * The interface underneath is in docs/design/wasm-agents.md.
 */
#ifndef WHIMBREL_H
#define WHIMBREL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the node did not do (negative results). */
enum whim_error {
    WHIM_DENIED = -1,    /* the policy does not grant it */
    WHIM_QUOTA = -2,     /* it would exceed a quota */
    WHIM_MALFORMED = -3, /* the message, value or name is none */
    WHIM_UNKNOWN = -4,   /* there is no such thing */
    WHIM_TIMEOUT = -5,   /* it did not come in time */
    WHIM_STAYED = -6,    /* the agent did not move */
    WHIM_FULL = -7,      /* there are too many of them already */
};

/* What messages do: FIPA00037's communicative acts. */
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

/* The fields of messages. */
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

/* The kinds of values. */
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

/* How much what is logged matters. */
enum whim_level { WHIM_DEBUG, WHIM_INFO, WHIM_WARNING, WHIM_ERROR };

/* Text or bytes somewhere in memory; not ended by a zero. */
typedef struct {
    const char *at;
    uint32_t len;
} whim_text;

/* Where one reads: what is between `at` and `end` is still to be read. */
typedef struct {
    const uint8_t *at;
    const uint8_t *end;
} whim_reader;

/* A value, or the beginning of one: what is in a list, map, record or term is read after it. */
typedef struct {
    enum whim_kind kind;
    uint8_t flags;       /* of a term */
    uint32_t count;      /* of the elements, pairs, fields or arguments that follow */
    int64_t integer;     /* of WHIM_INT, and of WHIM_DOUBLE without a fraction: agents in AgentSpeak only have doubles */
    double number;       /* of WHIM_DOUBLE, and of WHIM_INT */
    whim_text text;      /* of a text, atom, bytes or variable; the name of a record, the functor of a term */
    whim_text namespace; /* of a term */
} whim_value;

/* A message that came. It lasts as long as the call that it came with; one that was taken or received, until the next is. */
typedef struct {
    enum whim_performative performative;
    whim_text field[WHIM_FIELDS]; /* the first of each, as its bytes */
    whim_reader all;              /* all fields, for those that may be there several times: whim_next_field */
} whim_message;

/* ---- what the node does: see docs/design/wasm-agents.md ---- */

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
WHIM_IMPORT("depart") int whim__depart(const void *, uint32_t);
WHIM_IMPORT("depart_clone") int whim__depart_clone(const void *, uint32_t, const void *, uint32_t);
WHIM_IMPORT("discard") void whim__discard(const void *, uint32_t);
WHIM_IMPORT("stop") void whim__stop(void);
WHIM_IMPORT("receive") int whim__receive(const void *, uint32_t, int64_t);
WHIM_IMPORT("sleep") void whim__sleep(int64_t);
WHIM_IMPORT("move_to") int whim__move_to(const void *, uint32_t);
WHIM_IMPORT("clone_to") int whim__clone_to(const void *, uint32_t, const void *, uint32_t);

/* ---- texts ---- */

/* A literal as text. */
#define whim_str(literal) ((whim_text){(literal), sizeof(literal) - 1})

static inline bool whim_same(whim_text one, whim_text other) {
    if (one.len != other.len) return false;
    for (uint32_t i = 0; i < one.len; i++)
        if (one.at[i] != other.at[i]) return false;
    return true;
}

/* ---- room: memory that is asked for once, kept, and enlarged when it is too small ---- */

typedef struct {
    uint8_t *at;
    uint32_t len;
    uint32_t cap;
} whim__room;

/* Most messages find this much enough. */
#define WHIM__SMALL 512
static uint8_t whim__small[3][WHIM__SMALL];
static whim__room whim__inbox = {whim__small[0], 0, WHIM__SMALL}; /* what the node hands over */
static whim__room whim__out = {whim__small[1], 0, WHIM__SMALL};   /* what is being written */
static whim__room whim__got = {whim__small[2], 0, WHIM__SMALL};   /* what was fetched */

/* Makes it `cap` bytes at least, what is in it kept. Ends the agent if there is no memory. */
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

/* The name of a field of a record, which stands before its value. */
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

/* The next value; of kind WHIM_NOTHING if there is none. What is in it is read by further calls: the elements of a list, key and
 * value of each pair of a map; name (whim_read_name) and value of each field of a record; the arguments of a term, then, if it has
 * annotations, their count (whim_read_annotations) and themselves. */
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

/* How many annotations follow, after the last argument of a term that has some. */
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

/* The next field of a message's `all`: which it is, 0 after the last. */
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

/* A field that is text. */
static inline void whim_put_field(enum whim_field which, whim_text text) {
    whim_open_field(which);
    whim__put(text.at, text.len);
    whim__close();
}

/* Begins the content: one value, which is to be written next. */
static inline void whim_begin_content(void) { whim_open_field(WHIM_CONTENT); }

/* Begins a message to `receiver`, its content to be written next. */
static inline void whim_begin_to(whim_text receiver, enum whim_performative performative) {
    whim_begin(performative);
    whim_put_field(WHIM_RECEIVER, receiver);
    whim_begin_content();
}

/* Begins the answer to a message, its content to be written next. It goes to the message's :reply-to or sender, in its
 * conversation, protocol, ontology, language and encoding, and quotes its :reply-with. */
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

/* A list: its elements follow. */
static inline void whim_put_list(uint32_t count) {
    whim__put_byte(WHIM_LIST);
    whim__put_count(count);
}

/* A map: key and value of each pair follow. */
static inline void whim_put_map(uint32_t count) {
    whim__put_byte(WHIM_MAP);
    whim__put_count(count);
}

/* A record: name (whim_put_name) and value of each field follow. */
static inline void whim_put_record(whim_text name, uint32_t count) {
    whim__put_tagged(WHIM_RECORD, name);
    whim__put_count(count);
}

/* The name of a field of a record. */
static inline void whim_put_name(whim_text name) {
    whim__put_count(name.len);
    whim__put(name.at, name.len);
}

/* A term with all that it may have, by its flags: its arguments follow, then, if WHIM_HAS_ANNOTATIONS is set, their count
 * (whim_put_annotations) and themselves. `namespace` counts if WHIM_HAS_NAMESPACE is set. */
static inline void whim_put_full_term(uint8_t flags, whim_text functor, whim_text namespace, uint32_t count) {
    whim__put_byte(WHIM_TERM);
    whim__put_byte(flags);
    whim_put_name(functor);
    if (flags & WHIM_HAS_NAMESPACE) whim_put_name(namespace);
    whim__put_count(count);
}

/* A term `functor(arguments)`: the arguments follow. */
static inline void whim_put_term(whim_text functor, uint32_t count) { whim_put_full_term(0, functor, functor, count); }
static inline void whim_put_annotations(uint32_t count) { whim__put_count(count); }

/* Sends what was written. 0, or why not. */
static inline int whim_send(void) {
    whim__close();
    return whim__send(whim__out.at, whim__out.len);
}

/* ---- what else an agent can do ---- */

/* What the call before gave the length of; read on by `from`. */
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

/* Takes the oldest waiting message that fits the template that was written. 0, or WHIM_UNKNOWN if none does. */
static inline int whim_take(whim_message *message) {
    whim__close();
    return whim__fetch_message(whim__take(whim__out.at, whim__out.len), message);
}

/* Waits, in the middle of anything, for a message that fits the template that was written: so many milliseconds at most, for
 * ever if negative. 0, or WHIM_TIMEOUT. */
static inline int whim_receive(whim_message *message, int64_t ms) {
    whim__close();
    return whim__fetch_message(whim__receive(whim__out.at, whim__out.len, ms), message);
}

/* Waits so many milliseconds, in the middle of anything. */
static inline void whim_sleep(int64_t ms) { whim__sleep(ms); }

/* Moves to that node in the middle of anything, and goes on there. 0, or WHIM_STAYED. */
static inline int whim_move_to(whim_text node) { return whim__move_to(node.at, node.len); }

/* Leaves a copy of this name (empty: a new one) on that node. 0 in the one that called, 1 in the copy, which both go on here. */
static inline int whim_clone_to(whim_text node, whim_text name) {
    return whim__clone_to(node.at, node.len, name.at, name.len);
}

/* Moves to that node when this call is over: WHIM_ON_ARRIVAL comes next. */
static inline int whim_depart(whim_text node) { return whim__depart(node.at, node.len); }

/* Leaves a copy on that node when this call is over. */
static inline int whim_depart_clone(whim_text node, whim_text name) {
    return whim__depart_clone(node.at, node.len, name.at, name.len);
}

static inline whim_text whim__shown(char *room, uint32_t cap, int len) {
    return (whim_text){room, len < 0 ? 0 : (uint32_t)len < cap ? (uint32_t)len : cap};
}

/* Its name `agent@platform`, the node that it is on, why the last call had a negative result: written to `room`. */
static inline whim_text whim_name(char *room, uint32_t cap) { return whim__shown(room, cap, whim__name(room, cap)); }
static inline whim_text whim_node(char *room, uint32_t cap) { return whim__shown(room, cap, whim__node(room, cap)); }
static inline whim_text whim_reason(char *room, uint32_t cap) { return whim__shown(room, cap, whim__reason(room, cap)); }

/* Has WHIM_ON_TIMER called with `tag` after so many milliseconds; a later call with the same tag sets it anew. */
static inline int whim_timer(int64_t ms, int64_t tag) { return whim__timer(ms, tag); }
static inline int whim_cancel(int64_t tag) { return whim__cancel(tag); }
/* Milliseconds since 1970, or WHIM_DENIED. */
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
/* The names of those that offer a service (empty: any): a list to be read from `found`. Its length in bytes, or why not. */
static inline int whim_search(whim_text service, whim_text kind, whim_reader *found) {
    return whim__fetch(whim__search(service.at, service.len, kind.at, kind.len), found);
}
static inline int whim_exists(whim_text agent) { return whim__exists(agent.at, agent.len); }
/* Joins a topic (topic:NAME) or group (group:NAME). */
static inline int whim_join(whim_text topic) { return whim__join(topic.at, topic.len); }
static inline int whim_leave(whim_text topic) { return whim__leave(topic.at, topic.len); }
/* Has an environment do what was written (whim_begin_value); what comes of it is to be read from `result`. */
static inline int whim_act(whim_text environment, whim_reader *result) {
    return whim__fetch(whim__act(environment.at, environment.len, whim__out.at, whim__out.len), result);
}
/* ---- documents that the node offers by a name: whimbrel run --offer NAME=FOLDER ---- */

/* How many there are; negative if the node has none, or they are not granted. */
static inline int64_t whim_count_documents(whim_text environment) {
    whim_reader from;
    whim_begin_value();
    whim_put_atom(whim_str("count"));
    int failed = whim_act(environment, &from);
    if (failed < 0) return failed;
    whim_value count = whim_read(&from);
    return count.kind == WHIM_INT ? count.integer : WHIM_MALFORMED;
}

/* So many of them at most, in the order of their names, from the `first` (from 0): a list of document(Name, Bytes) to be read from
 * `listed`. Its length in bytes, or why not. */
static inline int whim_list_documents(whim_text environment, uint32_t first, uint32_t count, whim_reader *listed) {
    whim_begin_value();
    whim_put_term(whim_str("list"), 2);
    whim_put_int(first);
    whim_put_int(count);
    return whim_act(environment, listed);
}

/* So many bytes at most of a document, from that one: they are in `part` until the next call, and the number of the next one is
 * `*next`: the document's length after the last part. 0, or why not. */
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

/* What is there need not travel. */
static inline void whim_discard(const void *at, uint32_t len) { whim__discard(at, len); }
/* The agent ends when this call is over. */
static inline void whim_end(void) { whim__stop(); }

/* ---- what happens ---- */

/* It begins: `options`, a map, are to be read from the whim_reader. */
#define WHIM_ON_START(options)                                                                                                 \
    static int whim__on_start(whim_reader *);                                                                                  \
    WHIM_EXPORT("whim_start") int whim__start(const uint8_t *at, uint32_t len) {                                               \
        whim_reader from = {at, at + len};                                                                                     \
        return whim__on_start(&from);                                                                                          \
    }                                                                                                                          \
    static int whim__on_start(whim_reader *options)

/* A message. */
#define WHIM_ON_MESSAGE(message)                                                                                               \
    static int whim__on_message(const whim_message *);                                                                         \
    WHIM_EXPORT("whim_handle") int whim__handle(const uint8_t *at, uint32_t len) {                                             \
        whim_message read;                                                                                                     \
        return whim__read_message(&read, at, len) ? whim__on_message(&read) : WHIM_MALFORMED;                                  \
    }                                                                                                                          \
    static int whim__on_message(const whim_message *message)

/* An agent that is one function. It ends with it. */
#define WHIM_MAIN(options)                                                                                                     \
    static int whim__main(whim_reader *);                                                                                      \
    WHIM_ON_START(whim__options) {                                                                                             \
        int outcome = whim__main(whim__options);                                                                               \
        whim_end();                                                                                                            \
        return outcome;                                                                                                        \
    }                                                                                                                          \
    WHIM_EXPORT("whim_handle") int whim__handle(const uint8_t *at, uint32_t len) { return 0; }                                 \
    static int whim__main(whim_reader *options)

/* A timer is due. */
#define WHIM_ON_TIMER(tag)                                                                                                     \
    static int whim__on_timer(int64_t);                                                                                        \
    WHIM_EXPORT("whim_timer") int whim__timer_due(int64_t due) { return whim__on_timer(due); }                                 \
    static int whim__on_timer(int64_t tag)

/* It is about to leave. */
#define WHIM_ON_DEPARTURE()                                                                                                    \
    WHIM_EXPORT("whim_before_move") void whim__before_move(void)

/* It has arrived, or stayed: a map with "from", "to", "clone" and, if it stayed, "reason", to be read from the whim_reader. */
#define WHIM_ON_ARRIVAL(arrival)                                                                                               \
    static int whim__on_arrival(whim_reader *);                                                                                \
    WHIM_EXPORT("whim_after_move") int whim__after_move(const uint8_t *at, uint32_t len) {                                     \
        whim_reader from = {at, at + len};                                                                                     \
        return whim__on_arrival(&from);                                                                                        \
    }                                                                                                                          \
    static int whim__on_arrival(whim_reader *arrival)

/* It is ended by another's will. */
#define WHIM_ON_STOP()                                                                                                         \
    WHIM_EXPORT("whim_stop") void whim__stopping(void)

#endif
