/* Messaging between two processes over ZeroMQ with CURVE. The runner drives it (../README.md has the protocol):
 *
 *     PROGRAM consume|produce SCENARIO PRODUCERS CONSUMERS BYTES MODE SECURITY MESSAGES FOLDER ADDRESS
 *
 * One socket in each process, as one link between two nodes: a message is its receiver's number and its content. The
 * receiving process sorts. A socket for each agent would be slower. In a broadcast each message crosses the link once.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zmq.h>

/* Interval between messages of a paced producer. */
#define PACE_NS 1000000
/* Number of messages that an unpaced producer makes in its turn. */
#define AT_ONCE 64
/* Number of unpaced messages of which one is timed. */
#define TIMED_OF 16
#define PATIENCE_MS 300000
#define KEY_BYTES 41
/* The receiver comes first. */
#define HEAD_BYTES sizeof(uint32_t)

struct test_case {
    bool consumes, broadcast, one_to_one, paced, secure;
    int producers, consumers;
    size_t bytes;
    long messages, due;
    char *folder, *address;
};

struct consumer {
    long left, until_timed;
    uint64_t begun_ns, ended_ns;
};

struct samples {
    double *us;
    size_t count;
};

static void fail(const char *what) {
    fprintf(stderr, "%s: %s\n", what, zmq_strerror(errno));
    exit(1);
}

static void check(int result, const char *what) {
    if (result < 0)
        fail(what);
}

static uint64_t now_ns(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static struct test_case read_case(int count, char **arguments) {
    if (count != 11) {
        fprintf(stderr, "consume|produce SCENARIO PRODUCERS CONSUMERS BYTES MODE SECURITY MESSAGES FOLDER ADDRESS\n");
        exit(2);
    }
    struct test_case c = {
        .consumes = !strcmp(arguments[1], "consume"),
        .broadcast = !strcmp(arguments[2], "broadcast"),
        .one_to_one = !strcmp(arguments[2], "one-to-one"),
        .producers = atoi(arguments[3]),
        .consumers = atoi(arguments[4]),
        .bytes = strtoul(arguments[5], NULL, 10),
        .paced = !strcmp(arguments[6], "paced"),
        .secure = strcmp(arguments[7], "open") != 0,
        .messages = atol(arguments[8]),
        .folder = arguments[9],
        .address = arguments[10],
    };
    c.due = c.one_to_one ? c.messages : c.messages * c.producers;
    return c;
}

/* The consumers' end makes a pair of keys, and leaves the public one in a file for the other. */
static void key_file(const struct test_case *c, char *key, const char *mode) {
    char path[4096];
    snprintf(path, sizeof path, "%s/curve-%s.key", c->folder, strrchr(c->address, ':') + 1);
    FILE *file = fopen(path, mode);
    if (!file)
        fail(path);
    size_t done = *mode == 'w' ? fwrite(key, 1, KEY_BYTES, file) : fread(key, 1, KEY_BYTES, file);
    if (fclose(file) || done != KEY_BYTES)
        fail(path);
}

static void secure(const struct test_case *c, void *socket) {
    char public_key[KEY_BYTES], secret_key[KEY_BYTES], server_key[KEY_BYTES];
    check(zmq_curve_keypair(public_key, secret_key), "a pair of keys");
    check(zmq_setsockopt(socket, ZMQ_CURVE_SECRETKEY, secret_key, KEY_BYTES), "the secret key");
    if (c->consumes) {
        int yes = 1;
        check(zmq_setsockopt(socket, ZMQ_CURVE_SERVER, &yes, sizeof yes), "the server's role");
        key_file(c, public_key, "w");
    } else {
        key_file(c, server_key, "r");
        check(zmq_setsockopt(socket, ZMQ_CURVE_PUBLICKEY, public_key, KEY_BYTES), "the public key");
        check(zmq_setsockopt(socket, ZMQ_CURVE_SERVERKEY, server_key, KEY_BYTES), "the server's key");
    }
}

static void *open_socket(const struct test_case *c) {
    void *context = zmq_ctx_new();
    void *socket = zmq_socket(context, c->consumes ? ZMQ_PULL : ZMQ_PUSH);
    if (!socket)
        fail("a socket");
    if (c->secure)
        secure(c, socket);
    char endpoint[256];
    snprintf(endpoint, sizeof endpoint, "tcp://%s", c->address);
    check(c->consumes ? zmq_bind(socket, endpoint) : zmq_connect(socket, endpoint), endpoint);
    return socket;
}

static void take(const struct test_case *c, struct consumer *one, const char *content, uint64_t now, struct samples *all) {
    if (!one->begun_ns)
        one->begun_ns = now;
    if (--one->until_timed == 0) {
        one->until_timed = c->paced ? 1 : TIMED_OF;
        uint64_t made;
        memcpy(&made, content, sizeof made);
        all->us[all->count++] = now > made ? (double)(now - made) / 1e3 : 0;
    }
    if (--one->left == 0)
        one->ended_ns = now;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double percentile(const struct samples *all, double part) {
    size_t rank = (size_t)(part / 100 * (double)all->count + 0.999999);
    return all->count ? all->us[rank ? rank - 1 : 0] : 0;
}

static void report(const struct test_case *c, const struct consumer *consumers, struct samples *all) {
    uint64_t begun = UINT64_MAX, ended = 0;
    for (int i = 0; i < c->consumers; i++) {
        if (consumers[i].begun_ns < begun)
            begun = consumers[i].begun_ns;
        if (consumers[i].ended_ns > ended)
            ended = consumers[i].ended_ns;
    }
    qsort(all->us, all->count, sizeof *all->us, by_value);
    printf("{\"deliveries\": %ld, \"seconds\": %.4f, \"p50_us\": %.1f, \"p99_us\": %.1f}\n", c->due * c->consumers,
           (double)(ended - begun) / 1e9, percentile(all, 50), percentile(all, 99));
    fflush(stdout);
}

static void consume(const struct test_case *c, void *socket) {
    struct consumer *consumers = calloc((size_t)c->consumers, sizeof *consumers);
    for (int i = 0; i < c->consumers; i++)
        consumers[i] = (struct consumer){.left = c->due, .until_timed = c->paced ? 1 : TIMED_OF};
    long left = c->due * c->consumers;
    struct samples all = {.us = malloc((size_t)(left + 1) * sizeof(double))};
    int patience = PATIENCE_MS;
    check(zmq_setsockopt(socket, ZMQ_RCVTIMEO, &patience, sizeof patience), "patience");
    printf("ready\n");
    fflush(stdout);
    zmq_msg_t message;
    check(zmq_msg_init(&message), "a message");
    while (left) {
        check(zmq_msg_recv(&message, socket, 0), "not all messages came");
        if (zmq_msg_size(&message) != HEAD_BYTES + c->bytes)
            continue;
        const char *data = zmq_msg_data(&message);
        uint32_t to;
        memcpy(&to, data, sizeof to);
        uint64_t now = now_ns(CLOCK_REALTIME);
        int first = c->broadcast ? 0 : (int)to, last = c->broadcast ? c->consumers - 1 : (int)to;
        for (int i = first; i <= last && i < c->consumers; i++, left--)
            take(c, &consumers[i], data + HEAD_BYTES, now, &all);
    }
    report(c, consumers, &all);
}

static void send_one(const struct test_case *c, void *socket, int producer, char *bytes, uint64_t now) {
    uint32_t to = c->one_to_one ? (uint32_t)producer : 0;
    memcpy(bytes, &to, sizeof to);
    memcpy(bytes + HEAD_BYTES, &now, sizeof now);
    check(zmq_send(socket, bytes, HEAD_BYTES + c->bytes, 0), "sending");
}

/* Each producer's messages when they are due; producers are spread over the pace. */
static void send_paced(const struct test_case *c, void *socket, char *bytes) {
    uint64_t begun = now_ns(CLOCK_MONOTONIC) + 100000000;
    for (long message = 0; message < c->messages; message++)
        for (int producer = 0; producer < c->producers; producer++) {
            uint64_t due = begun + (uint64_t)message * PACE_NS + (uint64_t)producer * PACE_NS / (uint64_t)c->producers;
            struct timespec at = {.tv_sec = (time_t)(due / 1000000000), .tv_nsec = (long)(due % 1000000000)};
            clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
            send_one(c, socket, producer, bytes, now_ns(CLOCK_REALTIME));
        }
}

static void send_all(const struct test_case *c, void *socket, char *bytes) {
    for (long left = c->messages; left > 0; left -= AT_ONCE)
        for (int producer = 0; producer < c->producers; producer++) {
            uint64_t now = now_ns(CLOCK_REALTIME);
            for (long i = 0; i < AT_ONCE && i < left; i++)
                send_one(c, socket, producer, bytes, now);
        }
}

int main(int count, char **arguments) {
    struct test_case c = read_case(count, arguments);
    void *socket = open_socket(&c);
    if (c.consumes) {
        consume(&c, socket);
    } else {
        char *bytes = malloc(HEAD_BYTES + c.bytes);
        memset(bytes, 'x', HEAD_BYTES + c.bytes);
        printf("ready\n");
        fflush(stdout);
        if (getchar() == EOF)
            return 1;
        c.paced ? send_paced(&c, socket, bytes) : send_all(&c, socket, bytes);
    }
    /* Until the runner closes the pipe. */
    while (getchar() != EOF)
        ;
    return 0;
}
