package whimbrel.peer;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.Behavior;
import org.apache.pekko.actor.typed.javadsl.ActorContext;
import org.apache.pekko.actor.typed.javadsl.Behaviors;

/** Token ring: each token is passed on {@code passes} times, all tokens at once, put in equally spaced. */
final class Ring {
    sealed interface Message {}

    record Join(ActorRef<Message> next) implements Message {}

    record Token(long left) implements Message {}

    enum Spent { SPENT }

    /** What the JIT compiler needs to see before it is fair to look at the clock. */
    private static final int WARM_UP_PASSES = 200_000;

    static Map<String, Object> run(Map<String, Long> params) throws Exception {
        int workers = params.get("workers").intValue();
        int tokens = params.get("tokens").intValue();
        long passes = params.get("passes");
        round(workers, tokens, WARM_UP_PASSES / tokens);
        double seconds = round(workers, tokens, passes);
        return Map.of("seconds", seconds, "messages_per_s", tokens * (double) passes / seconds);
    }

    private static double round(int workers, int tokens, long passes) throws Exception {
        return Bench.await((ActorContext<Spent> context, CompletableFuture<Double> result) ->
                drive(context, workers, tokens, passes, result));
    }

    private static Behavior<Spent> drive(
            ActorContext<Spent> context, int workers, int tokens, long passes, CompletableFuture<Double> result) {
        List<ActorRef<Message>> ring = build(context, workers);
        long start = System.nanoTime();
        for (int i = 0; i < tokens; i++) {
            ring.get((int) ((long) i * workers / tokens % workers)).tell(new Token(passes));
        }
        return awaitSpent(tokens, start, result);
    }

    private static List<ActorRef<Message>> build(ActorContext<Spent> context, int workers) {
        List<ActorRef<Message>> ring = new ArrayList<>();
        for (int i = 0; i < workers; i++) {
            ring.add(context.spawn(join(context.getSelf()), "worker" + i));
        }
        for (int i = 0; i < workers; i++) {
            ring.get(i).tell(new Join(ring.get((i + 1) % workers)));
        }
        return ring;
    }

    private static Behavior<Message> join(ActorRef<Spent> driver) {
        return Behaviors.receiveMessage(message -> pass(((Join) message).next(), driver));
    }

    private static Behavior<Message> pass(ActorRef<Message> next, ActorRef<Spent> driver) {
        return Behaviors.receiveMessage(message -> {
            long left = ((Token) message).left();
            if (left == 0) {
                driver.tell(Spent.SPENT);
            } else {
                next.tell(new Token(left - 1));
            }
            return Behaviors.same();
        });
    }

    private static Behavior<Spent> awaitSpent(int missing, long start, CompletableFuture<Double> result) {
        return Behaviors.receiveMessage(spent -> {
            if (missing == 1) {
                result.complete(Bench.secondsSince(start));
            }
            return awaitSpent(missing - 1, start, result);
        });
    }
}
