/* Goes to and fro between two nodes, and tells whoever asked each time that it is back.
 *
 * `request weak(n1, n2, trips)`: between two calls. `request strong(n1, n2, trips, depth)`: in the middle of a recursion. */
#include <whimbrel.h>

static char home[64], away[64], asker[128];
static whim_text home_name, away_name, asker_name;
static int64_t trips;

static whim_text keep(char *room, uint32_t cap, whim_text text) {
    uint32_t len = text.len < cap ? text.len : cap;
    for (uint32_t at = 0; at < len; at++) room[at] = text.at[at];
    return (whim_text){room, len};
}

static int tell(whim_text what) {
    whim_begin_to(asker_name, WHIM_INFORM);
    whim_put_text(what);
    return whim_send();
}

/* There and back, at this depth of the stack. */
static int shuttle(int64_t depth) {
    if (depth > 0) {
        int outcome = shuttle(depth - 1);
        return outcome < 0 ? outcome : (int)(outcome + depth);
    }
    for (; trips > 0; trips--) {
        int outcome = whim_move_to(away_name);
        if (outcome == 0) outcome = whim_move_to(home_name);
        if (outcome == 0) outcome = tell(whim_str("back"));
        if (outcome < 0) return outcome;
    }
    return 0;
}

WHIM_ON_MESSAGE(message) {
    whim_reader from = whim_content(message);
    whim_value how = whim_read(&from);
    if (how.kind != WHIM_TERM || how.count < 3) return 0;
    home_name = keep(home, sizeof home, whim_read(&from).text);
    away_name = keep(away, sizeof away, whim_read(&from).text);
    asker_name = keep(asker, sizeof asker, message->field[WHIM_SENDER]);
    trips = whim_read(&from).integer;
    if (how.count == 3) return whim_depart(away_name);
    int outcome = shuttle(whim_read(&from).integer);
    return outcome < 0 ? tell(whim_str("stays")) : tell(whim_str("done"));
}

WHIM_ON_ARRIVAL(arrival) {
    char room[64];
    if (!whim_same(whim_node(room, sizeof room), home_name)) return whim_depart(home_name);
    int outcome = tell(whim_str("back"));
    return outcome < 0 || --trips <= 0 ? outcome : whim_depart(away_name);
}
