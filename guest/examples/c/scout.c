/* Goes round, and sends others: what travelling agents do again and again.
 *
 * request tour([[n2], [n3, n4]], WithinMs, StayMs): it goes to each of these stops itself, on the first node of each that it can come
 * to, tells visits(Node) there and stays for so long, comes home, and tells toured(Nodes, Missed, End, Home).
 * request send([n2, n3], Ms, WorkMs): it stays, sends a minion to the first of these nodes that it can come to, and tells what that
 * says; a minion on a node whose name begins with n counts the letters of it, others fail, after so much work. */
#include <whimbrel.h>

#define STOPS_MAX 100
#define NODES_MAX 200

static whim_text nodes[NODES_MAX];
static whim_stop stops[STOPS_MAX];

/* Reads a list of names; how many there are. */
static uint32_t read_names(whim_reader *from, whim_text *names, uint32_t cap) {
    uint32_t count = whim_read(from).count;
    if (count > cap) __builtin_trap();
    for (uint32_t i = 0; i < count; i++) names[i] = whim_read(from).text;
    return count;
}

/* "0 on n2" */
static void put_seen(int64_t task, whim_text node) {
    char line[8 + WHIM_NODE_BYTES_MAX];
    uint32_t len = 0;
    if (task >= 10) line[len++] = '0' + task / 10;
    line[len++] = '0' + task % 10;
    __builtin_memcpy(line + len, " on ", 4);
    __builtin_memcpy(line + len + 4, node.at, node.len);
    whim_put_text((whim_text){line, len + 4 + node.len});
}

static whim_text name_of(enum whim_tour_end end) {
    switch (end) {
    case WHIM_TOUR_DONE: return whim_str("done");
    case WHIM_TOUR_LATE: return whim_str("late");
    case WHIM_TOUR_RECALLED: return whim_str("recalled");
    default: return whim_str("no_way_back");
    }
}

static int tell_of(const whim_message *asked, const whim_itinerary *tour, const whim_stop *seen, uint32_t seen_count) {
    char room[WHIM_NODE_BYTES_MAX];
    whim_reply(asked, WHIM_INFORM);
    whim_put_term(whim_str("toured"), 4);
    whim_put_list(seen_count);
    for (uint32_t i = 0; i < seen_count; i++) put_seen(seen[i].task, *seen[i].nodes);
    whim_put_list(tour->missed_count);
    for (uint32_t i = 0; i < tour->missed_count; i++) whim_put_text(tour->missed[i].node);
    whim_put_atom(name_of(tour->ended));
    whim_put_text(whim_node(room, sizeof room));
    return whim_send();
}

static int go_round(const whim_message *asked, whim_reader args) {
    char room[WHIM_NODE_BYTES_MAX];
    whim_text reached[STOPS_MAX];
    whim_stop seen[STOPS_MAX];
    uint32_t used = 0, seen_count = 0;
    whim_itinerary tour = {.stops = stops, .count = whim_read(&args).count, .returning = true};
    if (tour.count > STOPS_MAX) __builtin_trap();
    for (uint32_t i = 0; i < tour.count; i++) {
        stops[i] = (whim_stop){nodes + used, read_names(&args, nodes + used, NODES_MAX - used), i};
        used += stops[i].count;
    }
    tour.within_ms = whim_read(&args).integer;
    int64_t stay = whim_read(&args).integer;
    while (whim_next_stop(&tour)) {
        whim_begin_to(asked->field[WHIM_SENDER], WHIM_INFORM);
        whim_put_term(whim_str("visits"), 1);
        whim_put_text(whim_node(room, sizeof room));
        whim_send();
        if (stay > 0) whim_sleep(stay);
        reached[seen_count] = tour.node;
        seen[seen_count] = (whim_stop){&reached[seen_count], 1, tour.task};
        seen_count++;
    }
    return tell_of(asked, &tour, seen, seen_count);
}

/* Task of the minion, on another node. */
static int work(const whim_minion *minion, int64_t ms) {
    char room[WHIM_NODE_BYTES_MAX];
    whim_sleep(ms);
    whim_text here = whim_node(room, sizeof room);
    bool is_name = here.len > 0 && here.at[0] == 'n';
    whim_report(minion, is_name ? WHIM_INFORM : WHIM_FAILURE);
    if (is_name) whim_put_int(here.len);
    else whim_put_text(whim_str("that is no name"));
    return whim_send();
}

static int send(const whim_message *asked, whim_reader args) {
    char room[96];
    whim_minion minion;
    uint32_t count = read_names(&args, nodes, NODES_MAX);
    int64_t within_ms = whim_read(&args).integer, work_ms = whim_read(&args).integer;
    int outcome = whim_dispatch(&minion, nodes, count, within_ms);
    if (outcome == 1) return work(&minion, work_ms);
    whim_text why = whim_reason(room, sizeof room);
    whim_reply(asked, WHIM_INFORM);
    whim_put_term(whim_str("heard"), 2);
    if (outcome == 0) {
        whim_reader content = whim_content(&minion.answer);
        whim_value found = whim_read(&content);
        if (found.kind == WHIM_INT) whim_put_int(found.integer);
        else whim_put_text(found.text);
    } else {
        whim_put_text(outcome == WHIM_TIMEOUT ? whim_str("the minion did not answer") : why);
    }
    whim_put_text(whim_node(room, sizeof room));
    return whim_send();
}

WHIM_ON_MESSAGE(message) {
    whim_reader content = whim_content(message);
    whim_value asked = whim_read(&content);
    bool is_request = asked.kind == WHIM_TERM && asked.count == 3;
    if (is_request && whim_same(asked.text, whim_str("tour"))) return go_round(message, content);
    if (is_request && whim_same(asked.text, whim_str("send"))) return send(message, content);
    if (message->performative != WHIM_REQUEST) return 0;
    whim_reply(message, WHIM_NOT_UNDERSTOOD);
    whim_put_text(whim_str("tour([[n2], [n3, n4]], WithinMs, StayMs), send([n2], Ms, WorkMs)"));
    return whim_send();
}
