package whimbrel.peer;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.actor.typed.Behavior;
import org.apache.pekko.actor.typed.javadsl.Behaviors;

/** N actors that start, say so, and wait for mail: how long to have them all, and what one costs in memory. */
final class Idle {
    enum Go { GO }

    static Map<String, Object> run(Map<String, Long> params) throws Exception {
        int agents = params.get("agents").intValue();
        CountDownLatch started = new CountDownLatch(agents);
        ActorSystem<Go> system = ActorSystem.create(creator(agents, started), "bench");
        double residentBefore = residentBytes();
        double liveBefore = liveBytes();
        long start = System.nanoTime();
        system.tell(Go.GO);
        started.await();
        double seconds = Bench.secondsSince(start);
        Map<String, Object> metrics = new LinkedHashMap<>();
        metrics.put("seconds", seconds);
        metrics.put("bytes_per_agent", (residentBytes() - residentBefore) / agents);
        metrics.put("live_heap_bytes_per_agent", (liveBytes() - liveBefore) / agents);
        return metrics;
    }

    private static Behavior<Go> creator(int agents, CountDownLatch started) {
        return Behaviors.receive((context, go) -> {
            for (int i = 0; i < agents; i++) {
                context.spawnAnonymous(idle(started));
            }
            return Behaviors.same();
        });
    }

    private static Behavior<Go> idle(CountDownLatch started) {
        return Behaviors.setup(context -> {
            started.countDown();
            return Behaviors.receiveMessage(message -> Behaviors.same());
        });
    }

    /** Collects first: garbage of the creation is not what an idle actor costs. */
    private static double residentBytes() throws Exception {
        System.gc();
        for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
            if (line.startsWith("VmRSS:")) {
                return Double.parseDouble(line.replaceAll("[^0-9]", "")) * 1024;
            }
        }
        return 0;
    }

    private static double liveBytes() {
        Runtime runtime = Runtime.getRuntime();
        return runtime.totalMemory() - runtime.freeMemory();
    }
}
