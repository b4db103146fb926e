package whimbrel.peer;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.LongPredicate;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.Behavior;
import org.apache.pekko.actor.typed.javadsl.AbstractBehavior;
import org.apache.pekko.actor.typed.javadsl.ActorContext;
import org.apache.pekko.actor.typed.javadsl.Behaviors;
import org.apache.pekko.actor.typed.javadsl.Receive;

/** A server answers fib(n); every request is computed by a child actor of its own. */
final class Fibonacci {
    record Request(long n, ActorRef<Long> client) {}

    record Sample(long n, double us) {}

    record Result(double seconds, List<Sample> samples) {}

    private static final long MODULUS = 2_147_483_647L;
    private static final long SMALL_TO = 10;
    private static final int WARM_UP_REQUESTS = 10;

    static Map<String, Object> run(Map<String, Long> params) throws Exception {
        int clients = params.get("clients").intValue();
        int requests = params.get("requests").intValue();
        long maxN = params.get("max_n");
        long largeFrom = params.getOrDefault("large_from", 25L);
        round(clients, WARM_UP_REQUESTS, maxN);
        Result result = round(clients, requests, maxN);
        List<Double> small = latencies(result, n -> n <= SMALL_TO);
        Map<String, Object> metrics = new LinkedHashMap<>();
        metrics.put("small_p50_us", Bench.percentile(50, small));
        metrics.put("small_p99_us", Bench.percentile(99, small));
        metrics.put("small_max_us", Bench.percentile(100, small));
        metrics.put("large_p50_us", Bench.percentile(50, latencies(result, n -> n >= largeFrom)));
        metrics.put("seconds", result.seconds());
        return metrics;
    }

    private static Result round(int clients, int requests, long maxN) throws Exception {
        return Bench.await((ActorContext<List<Sample>> context, CompletableFuture<Result> result) ->
                drive(context, clients, requests, maxN, result));
    }

    private static Behavior<List<Sample>> drive(
            ActorContext<List<Sample>> context, int clients, int requests, long maxN,
            CompletableFuture<Result> result) {
        long start = System.nanoTime();
        ActorRef<Request> server = context.spawn(server(), "server");
        for (int i = 1; i <= clients; i++) {
            long seed = step(i * 48271L % MODULUS);
            ActorRef<List<Sample>> driver = context.getSelf();
            context.spawn(
                    Behaviors.<Long>setup(self -> new Client(self, server, driver, requests, maxN, seed)),
                    "client" + i);
        }
        List<Sample> all = new ArrayList<>();
        return Behaviors.receiveMessage(samples -> {
            all.addAll(samples);
            if (all.size() == clients * requests) {
                result.complete(new Result(Bench.secondsSince(start), all));
            }
            return Behaviors.same();
        });
    }

    private static Behavior<Request> server() {
        return Behaviors.receive((context, request) -> {
            context.spawnAnonymous(Behaviors.setup(child -> {
                request.client().tell(fib(request.n()));
                return Behaviors.stopped();
            }));
            return Behaviors.same();
        });
    }

    private static final class Client extends AbstractBehavior<Long> {
        private final ActorRef<Request> server;
        private final ActorRef<List<Sample>> driver;
        private final int requests;
        private final long maxN;
        private final List<Sample> samples = new ArrayList<>();
        private long x;
        private long asked;
        private long askedAt;

        Client(
                ActorContext<Long> context, ActorRef<Request> server, ActorRef<List<Sample>> driver,
                int requests, long maxN, long seed) {
            super(context);
            this.server = server;
            this.driver = driver;
            this.requests = requests;
            this.maxN = maxN;
            x = seed;
            ask();
        }

        @Override
        public Receive<Long> createReceive() {
            return newReceiveBuilder().onAnyMessage(this::onAnswer).build();
        }

        private Behavior<Long> onAnswer(long answer) {
            samples.add(new Sample(asked, (System.nanoTime() - askedAt) / 1000.0));
            if (samples.size() == requests) {
                driver.tell(samples);
                return Behaviors.stopped();
            }
            ask();
            return this;
        }

        private void ask() {
            asked = 1 + x % maxN;
            // The same small generator in every peer, so that all compute the same requests.
            x = step(x);
            askedAt = System.nanoTime();
            server.tell(new Request(asked, getContext().getSelf()));
        }
    }

    private static List<Double> latencies(Result result, LongPredicate wanted) {
        return result.samples().stream().filter(s -> wanted.test(s.n())).map(Sample::us).toList();
    }

    private static long step(long x) {
        return x * 16807 % MODULUS;
    }

    private static long fib(long n) {
        return n < 2 ? n : fib(n - 1) + fib(n - 2);
    }
}
