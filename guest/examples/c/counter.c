/* Counts the messages that it gets, and says how many there were when it is asked (query-ref). */
#include <whimbrel.h>

static int64_t seen;

WHIM_ON_MESSAGE(message) {
    if (message->performative != WHIM_QUERY_REF) {
        seen++;
        return 0;
    }
    whim_reply(message, WHIM_INFORM);
    whim_put_int(seen);
    return whim_send();
}
