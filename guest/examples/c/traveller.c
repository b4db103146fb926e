/* Travels in the middle of its work: loops within calls within a recursion, and at any depth it moves on, with its stack.
 *
 * `request tour([n2, n1, ...])`: it climbs through its work, and moves to the next node of the list each time that its checksum
 * says so, until the list is used up. The sum it reports does not depend on where it has been. */
#include <whimbrel.h>

/* One step of FNV-1a, 32 bits at once. */
static uint32_t mix(uint32_t sum, uint32_t with) { return (sum ^ with) * 16777619; }

/* The nodes to go to, and how often it came to another one. */
static whim_reader nodes;
static uint32_t left, moves;

/* Moves on if there is somewhere to go. That it stays where a node is closed to it changes no sum. */
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
            if (sum % 7 == 0) go_on();
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
        whim_read(&nodes);
        left = whim_read(&nodes).count;
        moves = 0;

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
