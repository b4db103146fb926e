/* Sums what it is asked to sum. */
#include <whimbrel.h>

/* What it knows lives in static variables, and moves with it to other nodes. */
static int done;

WHIM_ON_MESSAGE(message) {
    whim_reader from = whim_content(message);
    whim_value term = whim_read(&from);
    if (term.kind != WHIM_TERM || !whim_same(term.text, whim_str("sum")) || term.count != 1) {
        whim_reply(message, WHIM_NOT_UNDERSTOOD);
        whim_put_text(whim_str("ask me for sum([1, 2, 3])"));
        return whim_send();
    }
    done++;
    whim_value numbers = whim_read(&from);
    double sum = 0;
    for (uint32_t i = 0; i < numbers.count; i++) sum += whim_read(&from).number;
    whim_reply(message, WHIM_INFORM);
    whim_put_term(whim_str("sum"), 1);
    whim_put_double(sum);
    return whim_send();
}
