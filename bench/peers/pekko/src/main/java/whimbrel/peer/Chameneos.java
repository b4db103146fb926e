package whimbrel.peer;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.Behavior;
import org.apache.pekko.actor.typed.javadsl.AbstractBehavior;
import org.apache.pekko.actor.typed.javadsl.ActorContext;
import org.apache.pekko.actor.typed.javadsl.Behaviors;
import org.apache.pekko.actor.typed.javadsl.Receive;

/** Creatures of three colours meet in pairs through a broker; both leave with the complement colour. */
final class Chameneos {
    enum Colour {
        BLUE, RED, YELLOW;

        private static final Colour[] ALL = values();

        /** The ordinals add up to 3, so two different colours leave the third. */
        Colour complement(Colour other) {
            return this == other ? this : ALL[3 - ordinal() - other.ordinal()];
        }
    }

    record Visit(Colour colour, ActorRef<Answer> visitor) {}

    sealed interface Answer {}

    record Met(Colour colour) implements Answer {}

    enum Stop implements Answer { STOP }

    record Result(double seconds, double deviation) {}

    private static final int WARM_UP_MEETINGS = 50_000;

    static Map<String, Object> run(Map<String, Long> params) throws Exception {
        int creatures = params.get("creatures").intValue();
        round(creatures, WARM_UP_MEETINGS);
        Result result = round(creatures, params.get("meetings").intValue());
        return Map.of("seconds", result.seconds(), "meetings_sd", result.deviation());
    }

    private static Result round(int creatures, int meetings) throws Exception {
        return Bench.await((ActorContext<Integer> context, CompletableFuture<Result> result) ->
                drive(context, creatures, meetings, result));
    }

    private static Behavior<Integer> drive(
            ActorContext<Integer> context, int creatures, int meetings, CompletableFuture<Result> result) {
        long start = System.nanoTime();
        ActorRef<Visit> broker = context.spawn(Behaviors.setup(self -> new Broker(self, meetings)), "broker");
        for (int i = 0; i < creatures; i++) {
            Colour colour = Colour.ALL[i % 3];
            ActorRef<Integer> driver = context.getSelf();
            context.spawn(Behaviors.<Answer>setup(self -> new Creature(self, colour, broker, driver)), "creature" + i);
        }
        List<Integer> counts = new ArrayList<>();
        return Behaviors.receiveMessage(count -> {
            counts.add(count);
            if (counts.size() == creatures) {
                result.complete(new Result(Bench.secondsSince(start), deviation(counts)));
            }
            return Behaviors.same();
        });
    }

    private static final class Broker extends AbstractBehavior<Visit> {
        private int left;
        private Visit waiting;

        Broker(ActorContext<Visit> context, int meetings) {
            super(context);
            left = meetings;
        }

        @Override
        public Receive<Visit> createReceive() {
            return newReceiveBuilder().onAnyMessage(this::onVisit).build();
        }

        private Behavior<Visit> onVisit(Visit visit) {
            if (left == 0) {
                visit.visitor().tell(Stop.STOP);
            } else if (waiting == null) {
                waiting = visit;
            } else {
                waiting.visitor().tell(new Met(visit.colour()));
                visit.visitor().tell(new Met(waiting.colour()));
                waiting = null;
                left--;
            }
            return this;
        }
    }

    private static final class Creature extends AbstractBehavior<Answer> {
        private final ActorRef<Visit> broker;
        private final ActorRef<Integer> driver;
        private Colour colour;
        private int met;

        Creature(ActorContext<Answer> context, Colour colour, ActorRef<Visit> broker, ActorRef<Integer> driver) {
            super(context);
            this.colour = colour;
            this.broker = broker;
            this.driver = driver;
            broker.tell(new Visit(colour, context.getSelf()));
        }

        @Override
        public Receive<Answer> createReceive() {
            return newReceiveBuilder().onAnyMessage(this::onAnswer).build();
        }

        private Behavior<Answer> onAnswer(Answer answer) {
            if (!(answer instanceof Met other)) {
                driver.tell(met);
                return Behaviors.stopped();
            }
            colour = colour.complement(other.colour());
            met++;
            broker.tell(new Visit(colour, getContext().getSelf()));
            return this;
        }
    }

    private static double deviation(List<Integer> counts) {
        double mean = counts.stream().mapToInt(Integer::intValue).average().orElse(0);
        return Math.sqrt(counts.stream().mapToDouble(k -> (k - mean) * (k - mean)).sum() / counts.size());
    }
}
