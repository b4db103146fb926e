/* Agent for tests of the sandbox: does to the node the evil that each message, an atom, names. */
#include <whimbrel.h>

/* Calls in which the agent traps from now on. */
static whim_text trap;
static char trap_room[16];

static void trap_in(const char *name, uint32_t len) {
    if (whim_same(trap, (whim_text){name, len})) __builtin_trap();
}
#define TRAP_IN(name) trap_in(name, sizeof(name) - 1)

static volatile uint32_t spins;

static int spin(void) {
    for (;;) spins++;
}

/* Calls itself until the stack ends. */
#pragma clang diagnostic ignored "-Winfinite-recursion"
static __attribute__((noinline)) int climb(volatile uint8_t *below) {
    volatile uint8_t room[256];
    room[0] = *below;
    return climb(room) + room[0];
}

/* Takes memory until there is no more, and writes to all of it. */
static int grow(void) {
    for (;;) {
        size_t page = __builtin_wasm_memory_grow(0, 1);
        if (page == (size_t)-1) return 0;
        for (uint32_t i = 0; i < 65536; i += 4096) ((volatile uint8_t *)(page * 65536))[i] = 1;
    }
}

static int flood(const whim_message *message) {
    for (uint32_t i = 0; i < 1000000; i++) {
        whim_reply(message, WHIM_INFORM);
        whim_put_term(whim_str("wave"), 1);
        whim_put_int(i);
        int outcome = whim_send();
        if (outcome < 0) return outcome;
    }
    return 0;
}

/* Says that somebody else says it. */
static int forge(const whim_message *message) {
    whim_begin(WHIM_INFORM);
    whim_put_field(WHIM_SENDER, whim_str("bank"));
    whim_put_field(WHIM_RECEIVER, message->field[WHIM_SENDER]);
    whim_begin_content();
    whim_put_term(whim_str("rich"), 1);
    whim_put_atom(whim_str("villain"));
    whim_send();
    return 0;
}

static int lie_about_addresses(void) { return whim__send((void *)0xfffffff0u, 64); }
static int lie_about_lengths(void) { return whim__send(NULL, 0x7fffffff); }
static int write_outside(void) { return whim__name((void *)0xfffffff0u, 64); }

static int garble(void) {
    whim_begin(WHIM_INFORM);
    whim__put("\3\377\377\377\377", 5);
    return whim_send() == WHIM_MALFORMED ? 0 : 1;
}

/* Asks the documents of `library` for what they have not, in every way that comes to mind. 0 if it gets nothing. */
static int pry(void) {
    static const whim_text names[] = {whim_str("../policy.toml"), whim_str("/etc/passwd"), whim_str("link"), whim_str(".."),
                                      whim_str(""), whim_str("a/../a"), whim_str("a\n")};
    whim_reader answer;
    whim_text part;
    uint32_t next;
    for (uint32_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (whim_read_document(whim_str("library"), names[i], 0, 100, &part, &next) != WHIM_UNKNOWN) return 1;
    }
    if (whim_read_document(whim_str("library"), whim_str("a"), 0xffffffffu, 0xffffffffu, &part, &next) != 0) return 2;
    if (part.len != 0) return 3;
    if (whim_list_documents(whim_str("library"), 0xffffffffu, 0xffffffffu, &answer) < 0) return 4;
    if (whim_count_documents(whim_str("archive")) != WHIM_DENIED) return 5;
    if (whim_count_documents(whim_str("nothing")) != WHIM_UNKNOWN) return 6;
    for (uint32_t byte = 0; byte < 256; byte++) {
        whim_begin_value();
        for (uint32_t i = 0; i < 40; i++) whim__put_byte((uint8_t)(byte + i * i * byte));
        if (whim_act(whim_str("library"), &answer) >= 0) return 7;
    }
    whim_begin_value();
    return whim_act(whim_str("library"), &answer) < 0 ? 0 : 8;
}

WHIM_ON_START(options) { return 0; }

WHIM_ON_MESSAGE(message) {
    whim_reader from = whim_content(message);
    whim_value what = whim_read(&from);
    whim_text evil = what.text;
    TRAP_IN("message");
    if (whim_same(evil, whim_str("spin"))) return spin();
    if (whim_same(evil, whim_str("climb"))) return climb((uint8_t *)&what);
    if (whim_same(evil, whim_str("grow"))) return grow();
    if (whim_same(evil, whim_str("flood"))) return flood(message);
    if (whim_same(evil, whim_str("forge"))) return forge(message);
    if (whim_same(evil, whim_str("address"))) return lie_about_addresses();
    if (whim_same(evil, whim_str("length"))) return lie_about_lengths();
    if (whim_same(evil, whim_str("write"))) return write_outside();
    if (whim_same(evil, whim_str("garble"))) return garble();
    if (whim_same(evil, whim_str("pry"))) return pry();
    if (whim_same(evil, whim_str("fail"))) return 7;
    if (whim_same(evil, whim_str("timer"))) return whim_timer(1, 1);
    if (whim_same(evil, whim_str("trap")) && what.kind == WHIM_TERM) {
        whim_text where = whim_read(&from).text;
        trap = (whim_text){trap_room, where.len < sizeof trap_room ? where.len : sizeof trap_room};
        __builtin_memcpy(trap_room, where.at, trap.len);
        return 0;
    }
    whim_reply(message, WHIM_INFORM);
    whim_put_atom(whim_str("harmless"));
    return whim_send();
}

WHIM_ON_TIMER(tag) {
    TRAP_IN("timer");
    return spin();
}

WHIM_ON_DEPARTURE() { TRAP_IN("departure"); }

WHIM_ON_ARRIVAL(arrival) {
    TRAP_IN("arrival");
    return 0;
}

WHIM_ON_STOP() { TRAP_IN("stop"); }
