/* Agent that travels in the middle of its work, in loops within calls within a recursion: it moves at any depth, with its
 * stack.
 *
 * `request tour([n2, n1, ...], Seed)`: the agent climbs through 295,230 steps of work. After one in 2,000 of them, drawn
 * by the seed (0 if there is none), it moves to the next node of the list, until the list is used up. The sum that it
 * reports does not depend on its route. */
#include <whimbrel.h>

/* One step of FNV-1a, 32 bits at once. */
static uint32_t mix(uint32_t sum, uint32_t with) { return (sum ^ with) * 16777619; }

/* Nodes of the tour, and the number of moves so far. */
static whim_reader nodes;
static uint32_t left, moves;
/* Number of the current step, and the seed that draws the steps with a move. */
static uint32_t steps, seed;

/* Returns 1 if the agent moves after this step. */
static int is_drawn(void) {
    uint32_t drawn = steps++ * 2654435761u ^ seed * 40503u;
    drawn = (drawn ^ drawn >> 15) * 2246822519u;
    return (drawn ^ drawn >> 13) % 2000 == 0;
}

/* Moves to the next node, if there is one. Staying, because a node is closed, changes no sum. */
static void go_on(void) {
    if (left == 0) return;
    char before[64], after[64];
    whim_text from = whim_node(before, sizeof before);
    whim_move_to(whim_read(&nodes).text);
    left--;
    if (!whim_same(whim_node(after, sizeof after), from)) moves++;
}

/* Loops within a recursion. Each level mixes what those below it made. */
static uint32_t climb(uint32_t level) {
    uint32_t sum = 2166136261u ^ level;
    for (uint32_t round = 0; round < 3; round++) {
        if (level > 0) sum = mix(sum, climb(level - 1));
        for (uint32_t step = 0; step < 10; step++) {
            sum = mix(sum, round * 10 + step);
            if (is_drawn()) go_on();
        }
    }
    return sum;
}

WHIM_MAIN(options) {
    for (;;) {
        whim_message asked;
        char room[64];
        whim_begin(WHIM_REQUEST);
        int outcome = whim_receive(&asked, -1);
        if (outcome < 0) return outcome;
        nodes = whim_content(&asked);
        uint32_t arguments = whim_read(&nodes).count;
        left = whim_read(&nodes).count;
        whim_reader behind = nodes;
        for (uint32_t at = 0; at < left; at++) whim_read(&behind);
        seed = arguments > 1 ? (uint32_t)whim_read(&behind).integer : 0;
        moves = steps = 0;

        uint32_t sum = climb(8);

        whim_reply(&asked, WHIM_INFORM);
        whim_put_term(whim_str("sum"), 3);
        whim_put_int(sum);
        whim_put_int(moves);
        whim_put_text(whim_node(room, sizeof room));
        outcome = whim_send();
        if (outcome < 0) return outcome;
    }
}
