import jade.core.AID;
import jade.core.Agent;
import jade.core.ProfileImpl;
import jade.core.Runtime;
import jade.core.behaviours.CyclicBehaviour;
import jade.core.behaviours.OneShotBehaviour;
import jade.imtp.leap.ICPException;
import jade.imtp.leap.JICP.JICPSPeer;
import jade.lang.acl.ACLMessage;
import jade.wrapper.AgentContainer;
import java.io.IOException;
import java.io.PrintStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import javax.net.ssl.SSLServerSocket;
import javax.net.ssl.SSLServerSocketFactory;

/**
 * Messaging between two containers of JADE. The runner drives it (../README.md has the protocol):
 *
 * <pre>consume|produce SCENARIO PRODUCERS CONSUMERS BYTES MODE SECURITY MESSAGES FOLDER ADDRESS</pre>
 *
 * The consumers are in the main container. Before it is ready, messages are sent that nobody counts, for the compiler.
 */
public class JadePeer {
    static final long PACE_NS = 1_000_000;
    static final int TIMED_OF = 16;
    static final int PATIENCE_S = 300;
    static final int BACKLOG = 50;
    /** Warming up: how long, and at most so many of the producers, each a message after the pace. */
    static final int WARM_MESSAGES = 3_000;
    static final int WARM_PRODUCERS = 4;
    static final byte WARM = 'w';
    static final byte COUNTED = 'x';
    /** Of key stores that live as long as a run. */
    static final String PASSWORD = "whimbrel";

    /** What is measured, and which end this is. */
    record Case(boolean consumes, String scenario, int producers, int consumers, int bytes, boolean paced, boolean secure,
                int messages, String folder, String host, String port) {
        static Case read(String[] a) {
            String[] address = a[9].split(":");
            return new Case(a[0].equals("consume"), a[1], Integer.parseInt(a[2]), Integer.parseInt(a[3]),
                Integer.parseInt(a[4]), a[5].equals("paced"), !a[6].equals("open"), Integer.parseInt(a[7]), a[8],
                address[0], address[1]);
        }

        /** How many messages each consumer gets. */
        int due() {
            return scenario.equals("one-to-one") ? messages : messages * producers;
        }

        List<Integer> receivers(int producer) {
            if (scenario.equals("one-to-one")) {
                return List.of(producer);
            }
            List<Integer> all = new ArrayList<>();
            for (int i = 0; i < (scenario.equals("broadcast") ? consumers : 1); i++) {
                all.add(i);
            }
            return all;
        }
    }

    record Consumed(long begunNs, long endedNs, int count, double[] us) {}

    static Case what;
    static final BlockingQueue<Consumed> ALL_DONE = new LinkedBlockingQueue<>();
    static CountDownLatch started;
    static final CountDownLatch GO = new CountDownLatch(1);
    static long beginNs;

    static long wallNs() {
        Instant now = Instant.now();
        return now.getEpochSecond() * 1_000_000_000L + now.getNano();
    }

    /** Counts what comes, and how long it took. */
    public static class Consumer extends Agent {
        private int got;
        private int timed;
        private long begunNs;
        private final double[] us = new double[what.due()];

        @Override
        protected void setup() {
            addBehaviour(new CyclicBehaviour() {
                @Override
                public void action() {
                    ACLMessage message = receive();
                    if (message == null) {
                        block();
                    } else {
                        take(message.getByteSequenceContent());
                    }
                }
            });
            started.countDown();
        }

        private void take(byte[] content) {
            if (content == null || content.length != what.bytes || content[content.length - 1] == WARM) {
                return;
            }
            got++;
            long now = wallNs();
            long made = ByteBuffer.wrap(content).order(ByteOrder.LITTLE_ENDIAN).getLong();
            if (begunNs == 0) {
                // Not when it came: where all goes into one mailbox, its agent may get no turn before the last has come.
                begunNs = made;
            }
            if (what.paced || got % TIMED_OF == 0) {
                us[timed++] = Math.max(0, now - made) / 1e3;
            }
            if (got == what.due()) {
                ALL_DONE.add(new Consumed(begunNs, now, got, Arrays.copyOf(us, timed)));
            }
        }
    }

    /** Warms up, then sends when told to. */
    public static class Producer extends Agent {
        @Override
        protected void setup() {
            int index = (Integer) getArguments()[0];
            addBehaviour(new OneShotBehaviour() {
                @Override
                public void action() {
                    try {
                        if (index < WARM_PRODUCERS) {
                            produce(index, WARM_MESSAGES, System.nanoTime(), WARM);
                        }
                        started.countDown();
                        GO.await();
                        produce(index, what.messages, what.paced ? beginNs : 0, COUNTED);
                    } catch (InterruptedException stopped) {
                        Thread.currentThread().interrupt();
                    }
                }
            });
        }

        /** Messages after the pace from a time on, or without a pace. */
        private void produce(int index, int messages, long beginNs, byte kind) {
            AID[] receivers = what.receivers(index).stream().map(to -> new AID("consumer" + to, AID.ISLOCALNAME))
                .toArray(AID[]::new);
            long due = beginNs + PACE_NS * index / what.producers;
            for (int i = 0; i < messages; i++, due += PACE_NS) {
                while (beginNs != 0 && System.nanoTime() < due) {
                    LockSupport.parkNanos(due - System.nanoTime());
                }
                byte[] content = new byte[what.bytes];
                Arrays.fill(content, kind);
                ByteBuffer.wrap(content).order(ByteOrder.LITTLE_ENDIAN).putLong(wallNs());
                ACLMessage message = new ACLMessage(ACLMessage.INFORM);
                for (AID receiver : receivers) {
                    message.addReceiver(receiver);
                }
                message.setByteSequenceContent(content);
                send(message);
            }
        }
    }

    /** JADE's transport over TLS, with certificates on both ends, on one address only. */
    public static class LoopbackPeer extends JICPSPeer {
        @Override
        protected ServerSocket getServerSocket(String host, int port, boolean changePort) throws ICPException {
            try {
                InetAddress address = InetAddress.getByName(what.host);
                SSLServerSocket socket =
                    (SSLServerSocket) SSLServerSocketFactory.getDefault().createServerSocket(port, BACKLOG, address);
                socket.setNeedClientAuth(true);
                return socket;
            } catch (IOException problem) {
                throw new ICPException("cannot listen on port " + port, problem);
            }
        }
    }

    public static void main(String[] arguments) throws Exception {
        what = Case.read(arguments);
        PrintStream out = System.out;
        // JADE's greeting is not for the runner.
        System.setOut(System.err);
        int agents = what.consumes ? what.consumers : what.producers;
        started = new CountDownLatch(agents);
        AgentContainer container = container();
        for (int i = 0; i < agents; i++) {
            String name = (what.consumes ? "consumer" : "producer") + i;
            Class<?> kind = what.consumes ? Consumer.class : Producer.class;
            container.createNewAgent(name, kind.getName(), new Object[] {i}).start();
        }
        started.await();
        out.println("ready");
        if (what.consumes) {
            report(out);
        } else {
            System.in.read();
            beginNs = System.nanoTime() + 100_000_000;
            GO.countDown();
        }
        while (System.in.read() >= 0) {
        }
        System.exit(0);
    }

    static AgentContainer container() {
        ProfileImpl profile = new ProfileImpl(false);
        profile.setParameter("host", what.host);
        profile.setParameter("port", what.port);
        profile.setParameter("local-host", what.host);
        profile.setParameter("mtps", "");
        profile.setParameter("jade_imtp_leap_JICP_JICPServer_acceptlocalhostonly", "true");
        if (what.secure) {
            System.setProperty("javax.net.ssl.keyStore", what.folder + "/end.p12");
            System.setProperty("javax.net.ssl.keyStorePassword", PASSWORD);
            System.setProperty("javax.net.ssl.trustStore", what.folder + "/authority.p12");
            System.setProperty("javax.net.ssl.trustStorePassword", PASSWORD);
            profile.setParameter("icps", LoopbackPeer.class.getName());
        }
        Runtime runtime = Runtime.instance();
        if (what.consumes) {
            profile.setParameter("main", "true");
            profile.setParameter("local-port", what.port);
            return runtime.createMainContainer(profile);
        }
        profile.setParameter("main", "false");
        profile.setParameter("local-port", String.valueOf(Integer.parseInt(what.port) + 1));
        return runtime.createAgentContainer(profile);
    }

    static void report(PrintStream out) throws Exception {
        long begun = Long.MAX_VALUE;
        long ended = 0;
        long deliveries = 0;
        List<double[]> parts = new ArrayList<>();
        for (int i = 0; i < what.consumers; i++) {
            Consumed one = ALL_DONE.poll(PATIENCE_S, TimeUnit.SECONDS);
            if (one == null) {
                System.err.println("not all messages came");
                System.exit(1);
            }
            begun = Math.min(begun, one.begunNs);
            ended = Math.max(ended, one.endedNs);
            deliveries += one.count;
            parts.add(one.us);
        }
        double[] us = parts.stream().flatMapToDouble(Arrays::stream).sorted().toArray();
        out.println(String.format(Locale.ROOT,
            "{\"deliveries\": %d, \"seconds\": %.4f, \"p50_us\": %.1f, \"p99_us\": %.1f}",
            deliveries, (ended - begun) / 1e9, percentile(us, 50), percentile(us, 99)));
    }

    static double percentile(double[] us, double part) {
        return us.length == 0 ? 0 : us[Math.max(0, (int) Math.ceil(part / 100 * us.length) - 1)];
    }
}
