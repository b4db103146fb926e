import com.esotericsoftware.kryo.Kryo;
import com.esotericsoftware.kryo.io.Input;
import com.esotericsoftware.kryo.io.Output;
import jadex.binary.SBinarySerializer;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.util.Arrays;
import java.util.Locale;
import org.apache.fory.Fory;
import org.apache.fory.config.Language;
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

    static Codec codec(String name) {
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
        Fory fory = Fory.builder().withLanguage(Language.JAVA).withRefTracking(true).requireClassRegistration(false)
            .withAsyncCompilation(false).build();
        return new Codec() {
            public byte[] encode(Object object) {
                return fory.serialize(object);
            }

            public Object decode(byte[] bytes) {
                return fory.deserialize(bytes);
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
        if (!object.same((BenchmarkObject) codec.decode(bytes))) {
            throw new IllegalStateException("what was encoded does not come back");
        }
        double encodeUs = medianUs(() -> codec.encode(object));
        double decodeUs = medianUs(() -> codec.decode(bytes));
        System.out.println(String.format(Locale.ROOT,
            "{\"bench\": \"codec\", \"peer\": \"%s\", \"metrics\": {\"bytes\": %d, \"encode_us\": %.3f, \"decode_us\": %.3f}}",
            arguments[0], bytes.length, encodeUs, decodeUs));
    }
}
