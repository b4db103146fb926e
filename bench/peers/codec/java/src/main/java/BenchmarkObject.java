import jade.content.Concept;
import java.io.Serializable;
import java.util.Arrays;

/** The object of the Jadex study, as a bean: a text, a random number as text, numbers, truths, children. */
public class BenchmarkObject implements Serializable, Concept {
    private static final long serialVersionUID = 1;
    private String text;
    private String random;
    private int number;
    private int[] numbers;
    private boolean[] truths;
    private BenchmarkObject[] children;

    /** The same data as whimbrel bench codec: xorshift64*, seeded alike. */
    static final class Random {
        private long state = 0x9E3779B97F4A7C15L;

        long next() {
            state ^= state >>> 12;
            state ^= state << 25;
            state ^= state >>> 27;
            return state * 0x2545F4914F6CDD1DL;
        }

        int below(long end) {
            return (int) ((next() >>> 16) % end);
        }
    }

    static BenchmarkObject make(boolean varied, int children, String text, Random random) {
        BenchmarkObject made = new BenchmarkObject();
        made.text = text;
        made.random = Long.toString(random.next());
        made.number = varied ? random.below(100_000) : 42_000;
        made.numbers = new int[20];
        for (int n = 0; n < 20; n++) {
            made.numbers[n] = varied ? random.below(1000) : n * 37;
        }
        made.truths = new boolean[20];
        for (int n = 0; n < 20; n++) {
            made.truths[n] = varied ? random.next() >>> 63 == 1 : n % 3 == 0;
        }
        made.children = new BenchmarkObject[children];
        for (int n = 0; n < children; n++) {
            made.children[n] = make(varied, 0, text, random);
        }
        return made;
    }

    static String text() {
        String words = "Lorem ipsum dolor sit amet, consectetur adipisici elit, sed eiusmod tempor. ";
        return words.repeat(7).substring(0, 514);
    }

    boolean same(BenchmarkObject other) {
        boolean same = text.equals(other.text) && random.equals(other.random) && number == other.number
            && Arrays.equals(numbers, other.numbers) && Arrays.equals(truths, other.truths)
            && children.length == other.children.length;
        for (int n = 0; same && n < children.length; n++) {
            same = children[n].same(other.children[n]);
        }
        return same;
    }

    public String getText() { return text; }
    public void setText(String text) { this.text = text; }
    public String getRandom() { return random; }
    public void setRandom(String random) { this.random = random; }
    public int getNumber() { return number; }
    public void setNumber(int number) { this.number = number; }
    public int[] getNumbers() { return numbers; }
    public void setNumbers(int[] numbers) { this.numbers = numbers; }
    public boolean[] getTruths() { return truths; }
    public void setTruths(boolean[] truths) { this.truths = truths; }
    public BenchmarkObject[] getChildren() { return children; }
    public void setChildren(BenchmarkObject[] children) { this.children = children; }
}
