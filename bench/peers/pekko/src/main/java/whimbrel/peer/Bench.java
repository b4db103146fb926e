package whimbrel.peer;

import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiFunction;
import java.util.stream.Collectors;
import org.apache.pekko.Version;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.actor.typed.Behavior;
import org.apache.pekko.actor.typed.javadsl.ActorContext;
import org.apache.pekko.actor.typed.javadsl.Behaviors;

/** The Pekko peer of the benchmarks: {@code Bench NAME --option value ...} runs one and prints one JSON line. */
public final class Bench {
    public static void main(String[] args) throws Exception {
        Map<String, Long> params = parse(args);
        Map<String, Object> metrics = switch (args.length == 0 ? "" : args[0]) {
            case "ring" -> Ring.run(params);
            case "chameneos" -> Chameneos.run(params);
            case "fibonacci" -> Fibonacci.run(params);
            case "spawn" -> Idle.run(params);
            default -> throw new IllegalArgumentException("ring, chameneos, fibonacci or spawn?");
        };
        Map<String, Object> line = new LinkedHashMap<>();
        line.put("bench", args[0]);
        line.put("version", "Pekko " + Version.current() + " (Java " + Runtime.version().feature() + ")");
        line.put("machine", machine());
        line.put("params", params);
        line.put("metrics", metrics);
        System.out.println(json(line));
        System.exit(0);
    }

    /** Runs an actor system whose guardian is {@code main} until that completes the result. */
    static <M, R> R await(BiFunction<ActorContext<M>, CompletableFuture<R>, Behavior<M>> main) throws Exception {
        CompletableFuture<R> result = new CompletableFuture<>();
        ActorSystem<M> system =
                ActorSystem.create(Behaviors.setup(context -> main.apply(context, result)), "bench");
        R value = result.get();
        system.terminate();
        system.getWhenTerminated().toCompletableFuture().get();
        return value;
    }

    static double secondsSince(long startNanos) {
        return (System.nanoTime() - startNanos) / 1e9;
    }

    /** Nearest-rank percentile; null where there is no sample at all. */
    static Double percentile(double percent, List<Double> samples) {
        if (samples.isEmpty()) {
            return null;
        }
        List<Double> sorted = new ArrayList<>(samples);
        Collections.sort(sorted);
        return sorted.get(Math.max(0, (int) Math.ceil(percent / 100 * sorted.size()) - 1));
    }

    private static Map<String, Long> parse(String[] args) {
        Map<String, Long> params = new LinkedHashMap<>();
        for (int i = 1; i + 1 < args.length; i += 2) {
            params.put(args[i].substring(2).replace('-', '_'), Long.valueOf(args[i + 1]));
        }
        return params;
    }

    private static Map<String, Object> machine() {
        Map<String, Object> machine = new LinkedHashMap<>();
        machine.put("os", System.getProperty("os.name").toLowerCase());
        machine.put("arch", System.getProperty("os.arch"));
        machine.put("cores", Runtime.getRuntime().availableProcessors());
        return machine;
    }

    private static String json(Object value) {
        if (value instanceof Map<?, ?> map) {
            return map.entrySet().stream()
                    .map(entry -> "\"" + entry.getKey() + "\": " + json(entry.getValue()))
                    .collect(Collectors.joining(", ", "{", "}"));
        }
        return value instanceof String text ? "\"" + text + "\"" : String.valueOf(value);
    }
}
