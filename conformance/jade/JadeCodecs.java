import jade.content.abs.AbsContentElement;
import jade.content.lang.sl.SLCodec;
import jade.content.onto.Ontology;
import jade.content.onto.basic.Action;
import jade.content.onto.basic.Done;
import jade.content.onto.basic.Result;
import jade.core.AID;
import jade.domain.FIPAAgentManagement.AMSAgentDescription;
import jade.domain.FIPAAgentManagement.DFAgentDescription;
import jade.domain.FIPAAgentManagement.Deregister;
import jade.domain.FIPAAgentManagement.FIPAManagementOntology;
import jade.domain.FIPAAgentManagement.Property;
import jade.domain.FIPAAgentManagement.Register;
import jade.domain.FIPAAgentManagement.Search;
import jade.domain.FIPAAgentManagement.SearchConstraints;
import jade.domain.FIPAAgentManagement.ServiceDescription;
import jade.lang.acl.ACLCodec;
import jade.lang.acl.ACLMessage;
import jade.lang.acl.StringACLCodec;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.Date;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * JADE's own codecs, for comparison.
 *
 * `write` prints messages as JADE's codecs write them, one JSON object a line: `name`, `message` (what JADE's getters say
 * of it, in the notation of conformance/acl), `string` and, if BEFipaMessage is on the class path, `bits` (Base64).
 * `write-table` prints messages one after another as BEFipaMessage writes them with a code table of 256 entries: `message`
 * and `bits`. `write-xml` prints messages as JADE's add-on xmlacl writes them: `name`, `message` and `xml`. `write-sl` prints contents as JADE's SL codec writes them. `read` reads lines of a codec's name (`string`, `bits` or `xml`), a
 * blank and a message in Base64, and prints what JADE's getters say, or `{"error": ...}`. `read-sl` reads lines of `0` for
 * SL0 or another word for all of SL, a blank and content in Base64, and prints as JSON text what JADE writes for what it
 * understood.
 */
public final class JadeCodecs {
    private static final String CHARSET = "UTF-8";
    /**
     * What BEFipaMessage does not write as it was: characters beyond ASCII are cut off, content that begins like a
     * byte-length-encoded string is taken for one, agents' parameters lose their `X-`.
     */
    private static final List<String> LOST_IN_BITS =
        List.of("content Zoë sagt: 日本", "content #12\"not what it seem", "a parameter of an agent");

    /**
     * What xmlacl does not write as it was: it escapes no markup but puts a backslash before quotes, trims the content,
     * and leaves out resolvers, agents' parameters and all parameters that FIPA does not know but its own.
     */
    private static final List<String> LOST_IN_XML = List.of(
        "everything", "a parameter of an agent", "content ((action (agent-iden",
        "content a \"quoted\" word", "content #12\"not what it seem");

    public static void main(String[] arguments) throws Exception {
        PrintStream out = new PrintStream(new java.io.FileOutputStream(java.io.FileDescriptor.out), true, CHARSET);
        switch (arguments.length == 1 ? arguments[0] : "") {
            case "write" -> write(out);
            case "write-sl" -> writeSl(out);
            case "write-table" -> writeTable(out);
            case "write-xml" -> writeXml(out);
            case "read" -> eachLine((kind, bytes) -> out.println(read(kind, bytes)));
            case "read-sl" -> eachLine((kind, bytes) -> out.println(readSl(kind, bytes)));
            default -> throw new IllegalArgumentException("expected one of write, write-sl, write-table, write-xml, read, read-sl");
        }
    }

    private interface Reader {
        void read(String kind, byte[] bytes);
    }

    private static void eachLine(Reader reader) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] parts = line.split(" ", 2);
            reader.read(parts[0], Base64.getDecoder().decode(parts[1]));
        }
    }

    /** BEFipaMessage's codec, if it is there. */
    private static ACLCodec bits() {
        try {
            return (ACLCodec) Class.forName("cascom.fipa.acl.BitEffACLCodec").getDeclaredConstructor().newInstance();
        } catch (ReflectiveOperationException | LinkageError absent) {
            return null;
        }
    }

    /** The codec of the add-on xmlacl, if it is there; with Java's own parser, as the one it asks for is not. */
    private static ACLCodec xml() {
        System.setProperty("org.xml.sax.parser", "com.sun.org.apache.xerces.internal.parsers.SAXParser");
        try {
            return (ACLCodec) Class.forName("jamr.jadeacl.xml.XMLACLCodec").getDeclaredConstructor().newInstance();
        } catch (ReflectiveOperationException | LinkageError absent) {
            return null;
        }
    }

    private static String read(String kind, byte[] bytes) {
        try {
            ACLCodec codec = switch (kind) {
                case "bits" -> bits();
                case "xml" -> xml();
                default -> new StringACLCodec();
            };
            return message(codec.decode(bytes, CHARSET));
        } catch (Throwable error) {
            return "{\"error\":" + text(error.toString()) + "}";
        }
    }

    private static String readSl(String kind, byte[] bytes) {
        try {
            SLCodec codec = kind.equals("0") ? new SLCodec(0) : new SLCodec();
            Ontology[] parts = {codec.getInnerOntology(), FIPAManagementOntology.getInstance()};
            Ontology ontology = new Ontology("management with SL's operators", parts, null);
            AbsContentElement content = codec.decode(ontology, new String(bytes, CHARSET));
            return text(codec.encode(ontology, content));
        } catch (Throwable error) {
            return "{\"error\":" + text(error.toString()) + "}";
        }
    }

    private static void write(PrintStream out) throws Exception {
        for (Map.Entry<String, ACLMessage> named : messages().entrySet()) {
            ACLMessage message = named.getValue();
            StringBuilder line = new StringBuilder("{\"name\":" + text(named.getKey()));
            line.append(",\"message\":").append(message(message));
            line.append(",\"string\":").append(base64(new StringACLCodec().encode(message, CHARSET)));
            ACLCodec bits = bits();
            if (bits != null && !LOST_IN_BITS.contains(named.getKey())) {
                line.append(",\"bits\":").append(base64(bits.encode(message, CHARSET)));
            }
            out.println(line.append('}'));
        }
    }

    private static void writeXml(PrintStream out) throws Exception {
        Map<String, ACLMessage> all = messages();
        all.put("several of each", several());
        for (Map.Entry<String, ACLMessage> named : all.entrySet()) {
            if (!LOST_IN_XML.contains(named.getKey())) {
                ACLMessage message = named.getValue();
                out.println("{\"name\":" + text(named.getKey()) + ",\"message\":" + message(message)
                    + ",\"xml\":" + base64(xml().encode(message, CHARSET)) + "}");
            }
        }
    }

    /** What `everything` has of what xmlacl writes. */
    private static ACLMessage several() {
        ACLMessage message = everything();
        message.clearUserDefinedParameter("X-priority");
        message.getSender().clearAllResolvers();
        message.setContent("((action (agent-identifier :name bob@away) (go far)))");
        return message;
    }

    /** Messages without content, which BEFipaMessage puts into the table and FIPA00069 does not. */
    private static void writeTable(PrintStream out) throws Exception {
        Class<?> type = Class.forName("cascom.fipa.acl.ACLEncoder");
        Object encoder = type.getDeclaredConstructor(int.class).newInstance(8);
        for (int turn = 0; turn < 40; turn++) {
            ACLMessage message = new ACLMessage(turn % 2 == 0 ? ACLMessage.CFP : ACLMessage.REFUSE);
            AID amy = new AID("amy" + turn % 3 + "@home", AID.ISGUID);
            amy.addAddresses("http://h:7778/acc");
            message.setSender(amy);
            message.addReceiver(new AID("bob" + turn % 5 + "@away", AID.ISGUID));
            message.setProtocol("fipa-contract-net");
            message.setLanguage("fipa-sl");
            message.setConversationId("C" + turn / 2);
            message.setReplyWith("with a blank " + turn % 7);
            Object bytes = type.getMethod("encode", ACLMessage.class).invoke(encoder, message);
            byte[] bits = (byte[]) bytes.getClass().getMethod("get").invoke(bytes);
            out.println("{\"message\":" + message(message) + ",\"bits\":" + base64(bits) + "}");
        }
    }

    private static String base64(byte[] bytes) {
        return text(Base64.getEncoder().encodeToString(bytes));
    }

    private static Map<String, ACLMessage> messages() {
        Map<String, ACLMessage> all = new LinkedHashMap<>();
        for (int act = 0; act < ACLMessage.getAllPerformativeNames().length; act++) {
            ACLMessage plain = new ACLMessage(act);
            plain.setSender(new AID("amy@home", AID.ISGUID));
            plain.addReceiver(new AID("bob@away", AID.ISGUID));
            all.put("plain " + ACLMessage.getPerformative(act), plain);
        }
        all.put("nothing but an act", new ACLMessage(ACLMessage.CFP));
        all.put("everything", everything());
        String[] contents = {
            "", "((action (agent-identifier :name bob@away) (sell \"plum\" 50)))", "a \"quoted\" word", "back\\slash",
            "two\nlines\tand a tab", "Zoë sagt: 日本", "(unbalanced", "#12\"not what it seems", "x".repeat(300),
        };
        for (String content : contents) {
            ACLMessage message = new ACLMessage(ACLMessage.INFORM);
            message.setSender(new AID("amy@home", AID.ISGUID));
            message.setContent(content);
            all.put("content " + content.substring(0, Math.min(20, content.length())), message);
        }
        for (int length : new int[] {1, 255, 256, 300}) {
            ACLMessage message = new ACLMessage(ACLMessage.INFORM);
            byte[] bytes = new byte[length];
            for (int place = 0; place < length; place++) {
                bytes[place] = (byte) (place * 7 + length);
            }
            message.setByteSequenceContent(bytes);
            all.put(length + " bytes of content", message);
        }
        ACLMessage slot = new ACLMessage(ACLMessage.INFORM);
        AID bob = new AID("bob@away", AID.ISGUID);
        bob.addUserDefinedSlot("colour", "red");
        slot.addReceiver(bob);
        all.put("a parameter of an agent", slot);
        for (String id : new String[] {"c1", "C-1_amy@home", "with blanks", "(in brackets)", "12", "http://h/x?y=1"}) {
            ACLMessage message = new ACLMessage(ACLMessage.AGREE);
            message.setConversationId(id);
            message.setInReplyTo(id);
            all.put("identifier " + id, message);
        }
        return all;
    }

    private static ACLMessage everything() {
        AID ams = new AID("ams@home", AID.ISGUID);
        ams.addAddresses("http://h:7778/acc");
        AID amy = new AID("amy@home:1099/JADE", AID.ISGUID);
        amy.addAddresses("http://h:7778/acc");
        amy.addAddresses("IOR:000000000000001149444C3A464950412F4D54533A312E30");
        amy.addResolvers(ams);
        AID bob = new AID("bob@away", AID.ISGUID);
        ACLMessage message = new ACLMessage(ACLMessage.REQUEST);
        message.setSender(amy);
        message.addReceiver(bob);
        message.addReceiver(new AID("eve@away", AID.ISGUID));
        message.addReplyTo(new AID("zoe@home", AID.ISGUID));
        message.setContent("((action (agent-identifier :name bob@away) (go \"far away\")))");
        message.setLanguage("fipa-sl0");
        message.setEncoding("utf-8");
        message.setOntology("travel");
        message.setProtocol("fipa-request");
        message.setConversationId("C1_1700000000000");
        message.setReplyWith("R1_1700000000000");
        message.setInReplyTo("r0");
        message.setReplyByDate(new Date(1_798_761_599_999L));
        message.addUserDefinedParameter("X-priority", "high");
        return message;
    }

    private static void writeSl(PrintStream out) throws Exception {
        Ontology ontology = FIPAManagementOntology.getInstance();
        for (Object content : contents()) {
            AbsContentElement element = (AbsContentElement) ontology.fromObject(content);
            out.println(text(new SLCodec(0).encode(ontology, element)));
        }
    }

    private static List<Object> contents() {
        AID df = new AID("df@home", AID.ISGUID);
        df.addAddresses("http://h:7778/acc");
        ServiceDescription service = new ServiceDescription();
        service.setName("my \"good\" weather");
        service.setType("weather");
        service.addLanguages("fipa-sl0");
        service.addOntologies("meteo");
        service.addProtocols("fipa-query");
        service.addProperties(new Property("days", "7"));
        service.addProperties(new Property("whole", "true"));
        service.addProperties(new Property("where", "São Paulo"));
        DFAgentDescription entry = new DFAgentDescription();
        entry.setName(new AID("amy@home", AID.ISGUID));
        entry.addServices(service);
        entry.setLeaseTime(new Date(1_798_761_599_999L));
        Register register = new Register();
        register.setDescription(entry);
        AMSAgentDescription agent = new AMSAgentDescription();
        agent.setName(new AID("amy@home", AID.ISGUID));
        agent.setState(AMSAgentDescription.ACTIVE);
        agent.setOwnership("NONE");
        Deregister deregister = new Deregister();
        deregister.setDescription(agent);
        SearchConstraints constraints = new SearchConstraints();
        constraints.setMaxResults(-1L);
        constraints.setMaxDepth(3L);
        Search search = new Search();
        search.setDescription(new DFAgentDescription());
        search.setConstraints(constraints);
        Action registration = new Action(df, register);
        return new ArrayList<>(Arrays.asList(
            registration,
            new Action(new AID("ams@home", AID.ISGUID), deregister),
            new Action(df, search),
            new Done(registration),
            new Result(new Action(df, search), new jade.util.leap.ArrayList(new ArrayList<>(List.of(entry)))),
            new jade.domain.FIPAAgentManagement.AlreadyRegistered(),
            new jade.domain.FIPAAgentManagement.MissingParameter("df-agent-description", "name")));
    }

    // What JADE says of a message, in the notation of conformance/acl/README.md.

    private static String message(ACLMessage message) {
        StringBuilder json = new StringBuilder("{\"performative\":");
        json.append(text(ACLMessage.getPerformative(message.getPerformative()).toLowerCase(java.util.Locale.ROOT)));
        if (message.getSender() != null && message.getSender().getName() != null) {
            json.append(",\"sender\":").append(agent(message.getSender()));
        }
        agents(json, "receivers", message.getAllReceiver());
        if (message.hasByteSequenceContent()) {
            StringBuilder hex = new StringBuilder();
            for (byte part : message.getByteSequenceContent()) {
                hex.append(String.format("%02x", part));
            }
            json.append(",\"content\":{\"bytes\":\"").append(hex).append("\"}");
        } else {
            member(json, "content", message.getContent());
        }
        agents(json, "reply_to", message.getAllReplyTo());
        member(json, "language", message.getLanguage());
        member(json, "encoding", message.getEncoding());
        member(json, "ontology", message.getOntology());
        member(json, "protocol", message.getProtocol());
        member(json, "conversation_id", message.getConversationId());
        member(json, "reply_with", message.getReplyWith());
        member(json, "in_reply_to", message.getInReplyTo());
        if (message.getReplyByDate() != null) {
            json.append(",\"reply_by_ms\":").append(message.getReplyByDate().getTime());
        }
        user(json, message.getAllUserDefinedParameters());
        return json.append('}').toString();
    }

    private static void member(StringBuilder json, String name, String value) {
        if (value != null && !value.isEmpty()) {
            json.append(",\"").append(name).append("\":").append(text(value));
        }
    }

    /** JADE takes the X- off what it reads, and puts it before what it writes. */
    private static void user(StringBuilder json, Map<Object, Object> parameters) {
        if (parameters.isEmpty()) {
            return;
        }
        List<String> pairs = new ArrayList<>();
        for (Map.Entry<Object, Object> pair : parameters.entrySet()) {
            String name = (String) pair.getKey();
            pairs.add("[" + text(name.startsWith("X-") ? name : "X-" + name) + "," + text((String) pair.getValue()) + "]");
        }
        json.append(",\"user\":[").append(String.join(",", pairs)).append(']');
    }

    private static void agents(StringBuilder json, String name, Iterator<?> agents) {
        List<String> all = new ArrayList<>();
        while (agents.hasNext()) {
            all.add(agent((AID) agents.next()));
        }
        if (!all.isEmpty()) {
            json.append(",\"").append(name).append("\":[").append(String.join(",", all)).append(']');
        }
    }

    private static String agent(AID agent) {
        StringBuilder json = new StringBuilder("{\"name\":" + text(agent.getName()));
        if (agent.getAddressesArray().length > 0) {
            List<String> addresses = new ArrayList<>();
            for (String address : agent.getAddressesArray()) {
                addresses.add(text(address));
            }
            json.append(",\"addresses\":[").append(String.join(",", addresses)).append(']');
        }
        agents(json, "resolvers", agent.getAllResolvers());
        user(json, agent.getAllUserDefinedSlot());
        return json.append('}').toString();
    }

    private static String text(String value) {
        StringBuilder json = new StringBuilder("\"");
        for (char character : value.toCharArray()) {
            if (character == '"' || character == '\\') {
                json.append('\\').append(character);
            } else if (character < ' ') {
                json.append(String.format("\\u%04x", (int) character));
            } else {
                json.append(character);
            }
        }
        return json.append('"').toString();
    }
}
