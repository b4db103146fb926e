import jade.core.AID;
import jade.core.Agent;
import jade.core.ProfileImpl;
import jade.core.Runtime;
import jade.core.behaviours.CyclicBehaviour;
import jade.lang.acl.ACLMessage;
import jade.wrapper.AgentContainer;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/**
 * Round trips between agents of one container of JADE, as {@code whimbrel bench rtt} measures them:
 *
 * <pre>rtt --pairs N --limit N --bytes N --messages N</pre>
 *
 * Prints one line of JSON. What takes the time is computed some times before, for the compiler.
 */
public class RttPeer {
    static final int PATIENCE_S = 300;
    static final int WARM_COMPUTATIONS = 20;
    static final byte[] ALPHABET =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".getBytes(StandardCharsets.US_ASCII);
    static final int CHARS_OF_NUMBER = 10;
    /** Bytes of messages on their way, beyond which JADE discards them: it takes 100 MB if nobody says otherwise. */
    static final int QUEUE_BYTES_MAX = 1_000_000_000;
    /** Stands for an answer that was not the right one. */
    static final double LOST = -1;

    static int pairs;
    static int limit;
    static int bytes;
    static int messages;
    /** What each answer begins with. */
    static String expected;
    static CountDownLatch started;
    /** One for each sender: those that wait for the same one wake up one after the other. */
    static CountDownLatch[] go;
    /** When all senders were told to begin: the first message of each is due then, whenever its thread runs. */
    static long begunNs;
    static final BlockingQueue<Double> TRIPS = new LinkedBlockingQueue<>();

    /** How many primes there are up to a number, by dividing each by all smaller ones until one divides it. */
    static int primesTo(int limit) {
        int primes = 0;
        for (int number = 2; number <= limit; number++) {
            int divisor = 2;
            while (divisor < number && number % divisor != 0) {
                divisor++;
            }
            if (divisor == number) {
                primes++;
            }
        }
        return primes;
    }

    /** Random text, as fast as need be (xorshift). */
    static final class Random {
        private long state;

        Random(long number) {
            state = (number + 1) * 0x9E3779B97F4A7C15L | 1;
        }

        String text(String start) {
            byte[] text = Arrays.copyOf(start.getBytes(StandardCharsets.US_ASCII), Math.max(bytes, start.length()));
            for (int at = start.length(); at < text.length;) {
                state ^= state << 13;
                state ^= state >>> 7;
                state ^= state << 17;
                long number = state;
                for (int i = 0; i < CHARS_OF_NUMBER && at < text.length; i++, at++, number >>>= 6) {
                    text[at] = ALPHABET[(int) (number & 63)];
                }
            }
            return new String(text, StandardCharsets.ISO_8859_1);
        }
    }

    /** Takes its time, then answers each request: the number of primes, and random text. */
    public static class Receiver extends Agent {
        @Override
        protected void setup() {
            Random random = new Random(2L * (Integer) getArguments()[0] + 1);
            addBehaviour(new CyclicBehaviour() {
                @Override
                public void action() {
                    ACLMessage request = receive();
                    if (request == null) {
                        block();
                    } else if (request.getPerformative() == ACLMessage.REQUEST) {
                        ACLMessage answer = request.createReply();
                        request = null;
                        answer.setPerformative(ACLMessage.INFORM);
                        answer.setContent(random.text(primesTo(limit) + " "));
                        send(answer);
                    }
                }
            });
            started.countDown();
        }
    }

    /** Sends its receiver a message, and the next when that is answered. */
    public static class Sender extends Agent {
        private int sent;
        private long askedNs;
        private AID receiver;
        private Random random;

        @Override
        protected void setup() {
            int pair = (Integer) getArguments()[0];
            receiver = new AID("receiver" + pair, AID.ISLOCALNAME);
            random = new Random(2L * pair);
            addBehaviour(new CyclicBehaviour() {
                @Override
                public void action() {
                    if (sent == 0) {
                        begin();
                    }
                    ACLMessage answer = receive();
                    if (answer == null) {
                        block();
                    } else {
                        TRIPS.add(isRight(answer) ? (System.nanoTime() - askedNs) / 1e6 : LOST);
                        ask();
                    }
                }
            });
            started.countDown();
        }

        private void begin() {
            try {
                go[(Integer) getArguments()[0] - 1].await();
                ask();
            } catch (InterruptedException stopped) {
                Thread.currentThread().interrupt();
            }
        }

        private void ask() {
            if (sent == messages) {
                return;
            }
            sent++;
            ACLMessage request = new ACLMessage(ACLMessage.REQUEST);
            request.addReceiver(receiver);
            request.setContent(random.text(""));
            request.setReplyWith(String.valueOf(sent));
            askedNs = sent == 1 ? begunNs : System.nanoTime();
            send(request);
        }

        private boolean isRight(ACLMessage answer) {
            String content = answer.getContent();
            return answer.getPerformative() == ACLMessage.INFORM && String.valueOf(sent).equals(answer.getInReplyTo())
                && content != null && content.length() == Math.max(bytes, expected.length())
                && content.startsWith(expected);
        }
    }

    public static void main(String[] arguments) throws Exception {
        Map<String, Integer> options = new HashMap<>();
        for (int i = 1; i + 1 < arguments.length; i += 2) {
            options.put(arguments[i].substring(2), Integer.parseInt(arguments[i + 1]));
        }
        pairs = options.get("pairs");
        limit = options.get("limit");
        bytes = options.get("bytes");
        messages = options.get("messages");
        for (int i = 0; i < WARM_COMPUTATIONS; i++) {
            expected = primesTo(limit) + " ";
        }
        PrintStream out = System.out;
        // JADE's greeting is not for the runner.
        System.setOut(System.err);
        start();
        begunNs = System.nanoTime();
        for (CountDownLatch latch : go) {
            latch.countDown();
        }
        double[] ms = hear((long) pairs * messages);
        out.println(report(ms, (System.nanoTime() - begunNs) / 1e9));
        out.flush();
        // Thousands of threads need not end one by one.
        java.lang.Runtime.getRuntime().halt(0);
    }

    static void start() throws Exception {
        ProfileImpl profile = new ProfileImpl(false);
        profile.setParameter("main", "true");
        profile.setParameter("host", "127.0.0.1");
        profile.setParameter("local-host", "127.0.0.1");
        profile.setParameter("local-port", "0");
        profile.setParameter("mtps", "");
        // JADE writes a description of itself there.
        Path folder = Files.createTempDirectory("jade-rtt-");
        profile.setParameter("file-dir", folder + "/");
        profile.setParameter("jade_core_messaging_MessageManager_maxqueuesize", String.valueOf(QUEUE_BYTES_MAX));
        profile.setParameter("jade_imtp_leap_JICP_JICPServer_acceptlocalhostonly", "true");
        AgentContainer container = Runtime.instance().createMainContainer(profile);
        started = new CountDownLatch(2 * pairs);
        go = new CountDownLatch[pairs];
        Arrays.setAll(go, pair -> new CountDownLatch(1));
        for (int pair = 1; pair <= pairs; pair++) {
            container.createNewAgent("receiver" + pair, Receiver.class.getName(), new Object[] {pair}).start();
            container.createNewAgent("sender" + pair, Sender.class.getName(), new Object[] {pair}).start();
        }
        started.await();
        Files.deleteIfExists(folder.resolve("APDescription.txt"));
        Files.deleteIfExists(folder.resolve("MTPs-Main-Container.txt"));
        Files.delete(folder);
    }

    /** How long each answer took; those that were wrong or did not come are missing. */
    static double[] hear(long due) throws InterruptedException {
        double[] ms = new double[(int) due];
        int answered = 0;
        for (long heard = 0; heard < due; heard++) {
            Double trip = TRIPS.poll(PATIENCE_S, TimeUnit.SECONDS);
            if (trip == null) {
                break;
            }
            if (trip != LOST) {
                ms[answered++] = trip;
            }
        }
        return Arrays.copyOf(ms, answered);
    }

    static String report(double[] ms, double seconds) throws IOException {
        Arrays.sort(ms);
        return String.format(Locale.ROOT,
            "{\"version\": \"JADE\", \"params\": {\"pairs\": %d, \"limit\": %d, \"bytes\": %d, \"messages\": %d}, "
                + "\"metrics\": {\"rtt_mean_ms\": %.3f, \"rtt_p50_ms\": %.3f, \"rtt_p99_ms\": %.3f, \"lost\": %d, "
                + "\"rss_mb\": %.1f, \"round_trips_per_s\": %.4f, \"seconds\": %.4f}}",
            pairs, limit, bytes, messages, Arrays.stream(ms).average().orElse(0), percentile(ms, 50), percentile(ms, 99),
            (long) pairs * messages - ms.length, peakBytes() / 1e6, ms.length / seconds, seconds);
    }

    static double percentile(double[] ms, double part) {
        return ms.length == 0 ? 0 : ms[Math.max(0, (int) Math.ceil(part / 100 * ms.length) - 1)];
    }

    /** The most memory that this process had, as Linux tells it. */
    static double peakBytes() throws IOException {
        for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
            if (line.startsWith("VmHWM:")) {
                return Double.parseDouble(line.replaceAll("[^0-9]", "")) * 1024;
            }
        }
        return Double.NaN;
    }
}
