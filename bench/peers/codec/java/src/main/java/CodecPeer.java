import com.esotericsoftware.kryo.Kryo;
import com.esotericsoftware.kryo.io.Input;
import com.esotericsoftware.kryo.io.Output;
import jade.content.Predicate;
import jade.content.abs.AbsContentElement;
import jade.content.lang.sl.SLCodec;
import jade.content.onto.BeanOntology;
import jade.content.onto.Ontology;
import jadex.binary.SBinarySerializer;
import jadex.xml.bean.JavaReader;
import jadex.xml.bean.JavaWriter;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Locale;
import org.apache.fory.Fory;
import org.apache.fory.logging.LoggerFactory;

/** Measures one Java codec: CodecPeer NAME same|varied CHILDREN; one line of JSON. */
public class CodecPeer {
    interface Codec {
        byte[] encode(Object object) throws Exception;

        Object decode(byte[] bytes) throws Exception;
    }

    private static final long MEASURED_NS = 600_000_000L;
    private static final long WARM_NS = 2_500_000_000L;
    private static final int SAMPLES = 200;

    static Codec codec(String name) throws Exception {
        ClassLoader loader = CodecPeer.class.getClassLoader();
        switch (name) {
            case "java":
                return new Codec() {
                    public byte[] encode(Object object) throws Exception {
                        ByteArrayOutputStream out = new ByteArrayOutputStream();
                        try (ObjectOutputStream objects = new ObjectOutputStream(out)) {
                            objects.writeObject(object);
                        }
                        return out.toByteArray();
                    }

                    public Object decode(byte[] bytes) throws Exception {
                        return new ObjectInputStream(new ByteArrayInputStream(bytes)).readObject();
                    }
                };
            case "jadex":
                return new Codec() {
                    public byte[] encode(Object object) {
                        return SBinarySerializer.writeObjectToByteArray(object, loader);
                    }

                    public Object decode(byte[] bytes) throws Exception {
                        return SBinarySerializer.readObjectFromByteArray(bytes, null, null, loader, null);
                    }
                };
            case "jadex-xml":
                return new Codec() {
                    public byte[] encode(Object object) {
                        return JavaWriter.objectToByteArray(object, loader);
                    }

                    public Object decode(byte[] bytes) {
                        return JavaReader.objectFromByteArray(bytes, loader, null);
                    }
                };
            case "jade-sl":
                return jadeSl();
            case "kryo":
                return kryo();
            case "fory":
                return fory();
            default:
                throw new IllegalArgumentException("no codec " + name);
        }
    }

    static Codec kryo() {
        Kryo kryo = new Kryo();
        kryo.setRegistrationRequired(false);
        kryo.setReferences(true);
        Output out = new Output(1 << 16, -1);
        return new Codec() {
            public byte[] encode(Object object) {
                out.reset();
                kryo.writeClassAndObject(out, object);
                return out.toBytes();
            }

            public Object decode(byte[] bytes) {
                return kryo.readClassAndObject(new Input(bytes));
            }
        };
    }

    static Codec fory() {
        LoggerFactory.disableLogging();
        // A text that is shared is written once, as Java and Kryo do.
        Fory fory = Fory.builder().withXlang(false).withRefTracking(true).ignoreStringRef(false)
            .requireClassRegistration(false).withAsyncCompilation(false).build();
        return new Codec() {
            public byte[] encode(Object object) {
                return fory.serialize(object);
            }

            public Object decode(byte[] bytes) {
                return fory.deserialize(bytes);
            }
        };
    }

    /** What JADE's agents say in SL: a predicate about the object. */
    public static class Known implements Predicate {
        private BenchmarkObject object;

        public BenchmarkObject getObject() { return object; }
        public void setObject(BenchmarkObject object) { this.object = object; }
    }

    /**
     * JADE's SL, by way of its ontology of beans. It reads numbers as Long, and then cannot fill an int[]: decoding is
     * parsing only, and what it has parsed must be written as it was read.
     */
    static Codec jadeSl() throws Exception {
        SLCodec sl = new SLCodec();
        Ontology ontology = new BeanOntology("benchmark") {
            {
                add(BenchmarkObject.class);
                add(Known.class);
            }
        };
        return new Codec() {
            public byte[] encode(Object object) throws Exception {
                AbsContentElement tree;
                if (object instanceof AbsContentElement) {
                    tree = (AbsContentElement) object;
                } else {
                    Known known = new Known();
                    known.setObject((BenchmarkObject) object);
                    tree = (AbsContentElement) ontology.fromObject(known);
                }
                return sl.encode(ontology, tree).getBytes(StandardCharsets.UTF_8);
            }

            public Object decode(byte[] bytes) throws Exception {
                return sl.decode(ontology, new String(bytes, StandardCharsets.UTF_8));
            }
        };
    }

    interface Work {
        Object run() throws Exception;
    }

    static Object sink;

    /** The median time of one run in microseconds, after the compiler had its time. */
    static double medianUs(Work work) throws Exception {
        long until = System.nanoTime() + WARM_NS;
        long runs = 0;
        while (System.nanoTime() < until) {
            sink = work.run();
            runs++;
        }
        long rounds = Math.max(1, runs * MEASURED_NS / WARM_NS / SAMPLES);
        int samples = rounds > 1 ? SAMPLES : (int) Math.max(5, Math.min(SAMPLES, runs * MEASURED_NS / WARM_NS));
        double[] times = new double[samples];
        for (int sample = 0; sample < samples; sample++) {
            long started = System.nanoTime();
            for (long round = 0; round < rounds; round++) {
                sink = work.run();
            }
            times[sample] = (System.nanoTime() - started) / 1e3 / rounds;
        }
        Arrays.sort(times);
        return times[samples / 2];
    }

    public static void main(String[] arguments) throws Exception {
        boolean varied = arguments[1].equals("varied");
        int children = Integer.parseInt(arguments[2]);
        BenchmarkObject object =
            BenchmarkObject.make(varied, children, BenchmarkObject.text(), new BenchmarkObject.Random());
        Codec codec = codec(arguments[0]);
        byte[] bytes = codec.encode(object);
        Object back = codec.decode(bytes);
        boolean same = back instanceof BenchmarkObject ? object.same((BenchmarkObject) back)
            : Arrays.equals(codec.encode(back), bytes);
        if (!same) {
            throw new IllegalStateException("what was encoded does not come back");
        }
        double encodeUs = medianUs(() -> codec.encode(object));
        double decodeUs = medianUs(() -> codec.decode(bytes));
        System.out.println(String.format(Locale.ROOT,
            "{\"bench\": \"codec\", \"peer\": \"%s\", \"metrics\": {\"bytes\": %d, \"encode_us\": %.3f, \"decode_us\": %.3f}}",
            arguments[0], bytes.length, encodeUs, decodeUs));
    }
}
