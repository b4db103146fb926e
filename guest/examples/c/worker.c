/* Sums the numbers that it is asked to sum, and keeps count. */
#include <whimbrel.h>

/* Number of sums so far. */
static int64_t done;

/* Sum of the numbers in `request sum([1, 2, 3])`. */
static bool sum(const whim_message *message, int64_t *sum) {
    whim_reader from = whim_content(message);
    whim_value term = whim_read(&from), numbers = whim_read(&from);
    if (message->performative != WHIM_REQUEST || term.kind != WHIM_TERM || term.count != 1) return false;
    if (!whim_same(term.text, whim_str("sum")) || numbers.kind != WHIM_LIST) return false;
    *sum = 0;
    for (uint32_t i = 0; i < numbers.count; i++) {
        whim_value number = whim_read(&from);
        if (number.kind != WHIM_INT && number.number != (double)number.integer) return false;
        if (number.kind != WHIM_INT && number.kind != WHIM_DOUBLE) return false;
        if (__builtin_add_overflow(*sum, number.integer, sum)) return false;
    }
    return true;
}

WHIM_ON_START(options) { return whim_register(whim_str("sums"), whim_str("arithmetic")); }

WHIM_ON_MESSAGE(message) {
    int64_t total;
    if (sum(message, &total)) {
        whim_reply(message, WHIM_INFORM);
        whim_put_term(whim_str("sum"), 2);
        whim_put_int(total);
        whim_put_int(++done);
    } else {
        whim_reply(message, WHIM_NOT_UNDERSTOOD);
        whim_put_text(whim_str("I sum lists of whole numbers"));
    }
    return whim_send();
}
