import jade.content.lang.sl.SLCodec;
import jade.content.onto.basic.Action;
import jade.content.onto.basic.Result;
import jade.core.AID;
import jade.core.Agent;
import jade.core.Profile;
import jade.core.ProfileImpl;
import jade.core.Runtime;
import jade.core.behaviours.CyclicBehaviour;
import jade.core.behaviours.OneShotBehaviour;
import jade.domain.FIPAAgentManagement.AMSAgentDescription;
import jade.domain.FIPAAgentManagement.APDescription;
import jade.domain.FIPAAgentManagement.APService;
import jade.domain.FIPAAgentManagement.Envelope;
import jade.domain.FIPAAgentManagement.FIPAManagementOntology;
import jade.domain.FIPAAgentManagement.Search;
import jade.domain.FIPAAgentManagement.SearchConstraints;
import jade.domain.FIPANames;
import jade.lang.acl.ACLMessage;
import jade.lang.acl.MessageTemplate;
import jade.proto.ContractNetInitiator;
import jade.proto.ContractNetResponder;
import jade.wrapper.AgentContainer;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.URL;
import java.util.Date;
import java.util.Enumeration;
import java.util.TreeSet;
import java.util.Vector;

/**
 * A JADE platform with an HTTP MTP, driven by lines on standard input. Each line of output begins with "@ ".
 *
 * Arguments: NAME, port of the platform, address of the MTP. Agents: driver, echo, bidder.
 *
 * Commands, with words between tabs: "tell PERFORMATIVE CONTENT NAME URL [NAME URL]", "flood COUNT NAME URL",
 * "call TASK URL NAME...", "add URL", "end".
 */
public class JadePlatform {
    static PrintStream out;
    static Driver driver;

    public static void main(String[] arguments) throws Exception {
        out = new PrintStream(System.out, true, "UTF-8");
        System.setOut(System.err);
        ProfileImpl profile = new ProfileImpl("127.0.0.1", Integer.parseInt(arguments[1]), arguments[0], true);
        profile.setParameter(Profile.LOCAL_HOST, "127.0.0.1");
        profile.setParameter(Profile.LOCAL_PORT, arguments[1]);
        profile.setParameter(Profile.MTPS, "jade.mtp.http.MessageTransportProtocol(" + arguments[2] + ")");
        Runtime.instance().setCloseVM(true);
        AgentContainer main = Runtime.instance().createMainContainer(profile);
        driver = new Driver();
        main.acceptNewAgent("echo", new Echo()).start();
        main.acceptNewAgent("bidder", new Bidder()).start();
        main.acceptNewAgent("driver", driver).start();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, "UTF-8"));
        for (String line = in.readLine(); line != null && !line.equals("end"); line = in.readLine()) {
            String[] words = line.split("\t");
            driver.addBehaviour(new OneShotBehaviour() {
                public void action() {
                    driver.command(words);
                }
            });
        }
        System.exit(0);
    }

    static void say(String text) {
        synchronized (out) {
            out.println("@ " + text);
        }
    }

    static AID aid(String name, String url) {
        AID aid = new AID(name, AID.ISGUID);
        aid.addAddresses(url);
        return aid;
    }

    /** Has text outside ASCII arrive as it is. JADE fills in the rest of the envelope for each receiver. */
    static ACLMessage inUtf8(ACLMessage message) {
        Envelope envelope = new Envelope();
        envelope.setPayloadEncoding("UTF-8");
        message.setEnvelope(envelope);
        return message;
    }

    /** Answers each request with an inform of the same content. */
    static class Echo extends Agent {
        protected void setup() {
            addBehaviour(new CyclicBehaviour() {
                public void action() {
                    ACLMessage message = receive();
                    if (message == null) {
                        block();
                        return;
                    }
                    if (message.getPerformative() == ACLMessage.REQUEST) {
                        ACLMessage answer = message.createReply();
                        answer.setPerformative(ACLMessage.INFORM);
                        answer.setContent(message.getContent());
                        send(inUtf8(answer));
                    } else {
                        say("echo got " + ACLMessage.getPerformative(message.getPerformative()) + " "
                            + message.getContent());
                    }
                }
            });
        }
    }

    /** Bids 35 in each contract net. */
    static class Bidder extends Agent {
        protected void setup() {
            addBehaviour(new ContractNetResponder(this, MessageTemplate.MatchPerformative(ACLMessage.CFP)) {
                protected ACLMessage handleCfp(ACLMessage cfp) {
                    ACLMessage offer = cfp.createReply();
                    offer.setPerformative(ACLMessage.PROPOSE);
                    offer.setContent("35");
                    return offer;
                }

                protected ACLMessage handleAcceptProposal(ACLMessage cfp, ACLMessage offer, ACLMessage accept) {
                    say("bidder works");
                    ACLMessage done = accept.createReply();
                    done.setPerformative(ACLMessage.INFORM);
                    done.setContent("done");
                    return done;
                }

                protected void handleRejectProposal(ACLMessage cfp, ACLMessage offer, ACLMessage reject) {
                    say("bidder is rejected");
                }
            });
        }
    }

    /** Sends what the commands say, and tells what comes back. */
    static class Driver extends Agent {
        int floods;
        int answered;
        long began;

        protected void setup() {
            getContentManager().registerLanguage(new SLCodec(0), FIPANames.ContentLanguage.FIPA_SL0);
            getContentManager().registerOntology(FIPAManagementOntology.getInstance());
            say("ready");
            MessageTemplate others = MessageTemplate.not(MessageTemplate.MatchProtocol("fipa-contract-net"));
            addBehaviour(new CyclicBehaviour() {
                public void action() {
                    ACLMessage message = receive(others);
                    if (message == null) {
                        block();
                        return;
                    }
                    if (message.getPerformative() == ACLMessage.INFORM && "flood".equals(message.getConversationId())) {
                        answered += 1;
                        if (answered == floods) {
                            say("flood " + answered + " in " + (System.currentTimeMillis() - began) + " ms");
                        }
                        return;
                    }
                    if ("add".equals(message.getConversationId())) {
                        found(message);
                        return;
                    }
                    say(ACLMessage.getPerformative(message.getPerformative()) + "\t" + message.getContent() + "\t"
                        + message.getSender().getName() + "\t" + message.getInReplyTo());
                }
            });
        }

        void command(String[] words) {
            switch (words[0]) {
                case "tell":
                    tell(words);
                    break;
                case "flood":
                    flood(Integer.parseInt(words[1]), aid(words[2], words[3]));
                    break;
                case "call":
                    call(words);
                    break;
                case "add":
                    add(words[1]);
                    break;
                default:
                    say("unknown command " + words[0]);
            }
        }

        /** Does as JADE's RMA: reads a platform's description, and asks its AMS for all agents. */
        void add(String url) {
            try {
                BufferedReader in = new BufferedReader(new InputStreamReader(new URL(url).openStream(), "UTF-8"));
                ACLMessage described = new ACLMessage(ACLMessage.INFORM);
                described.setOntology(FIPAManagementOntology.NAME);
                described.setLanguage(FIPANames.ContentLanguage.FIPA_SL0);
                described.setContent("((result (action (agent-identifier :name ams :addresses (sequence IOR:00)) "
                    + "(get-description)) (sequence " + in.readLine() + ")))");
                Result result = (Result) getContentManager().extractContent(described);
                APDescription platform = (APDescription) result.getItems().get(0);
                AID ams = new AID("ams@" + platform.getName(), AID.ISGUID);
                APService service = (APService) platform.getAllAPServices().next();
                ams.addAddresses((String) service.getAllAddresses().next());
                Search search = new Search();
                search.setDescription(new AMSAgentDescription());
                SearchConstraints constraints = new SearchConstraints();
                constraints.setMaxResults(-1L);
                search.setConstraints(constraints);
                ACLMessage request = new ACLMessage(ACLMessage.REQUEST);
                request.addReceiver(ams);
                request.setConversationId("add");
                request.setProtocol("fipa-request");
                request.setOntology(FIPAManagementOntology.NAME);
                request.setLanguage(FIPANames.ContentLanguage.FIPA_SL0);
                getContentManager().fillContent(request, new Action(ams, search));
                send(request);
            } catch (Exception error) {
                say("add failed " + error);
            }
        }

        /** Tells which agents a platform has, and an address of one. */
        void found(ACLMessage message) {
            if (message.getPerformative() != ACLMessage.INFORM) {
                return;
            }
            try {
                Result result = (Result) getContentManager().extractContent(message);
                TreeSet<String> names = new TreeSet<String>();
                String address = null;
                for (int at = 0; at < result.getItems().size(); at += 1) {
                    AID agent = ((AMSAgentDescription) result.getItems().get(at)).getName();
                    names.add(agent.getName());
                    address = agent.getAddressesArray()[0];
                }
                say("added " + names + " at " + address);
            } catch (Exception error) {
                say("add failed " + error + " " + message.getContent());
            }
        }

        void tell(String[] words) {
            ACLMessage message = new ACLMessage(ACLMessage.getInteger(words[1]));
            message.setContent(words[2]);
            message.setReplyWith("r1");
            for (int at = 3; at + 1 < words.length; at += 2) {
                message.addReceiver(aid(words[at], words[at + 1]));
            }
            send(inUtf8(message));
        }

        /** Requests, 100 unanswered ones at most at a time. */
        void flood(int count, AID to) {
            floods = count;
            answered = 0;
            began = System.currentTimeMillis();
            addBehaviour(new jade.core.behaviours.SimpleBehaviour() {
                int sent = 0;

                public void action() {
                    while (sent < floods && sent - answered < 100) {
                        ACLMessage message = new ACLMessage(ACLMessage.REQUEST);
                        message.addReceiver(to);
                        message.setConversationId("flood");
                        message.setContent("n" + sent);
                        send(message);
                        sent += 1;
                    }
                    block(1);
                }

                public boolean done() {
                    return sent >= floods;
                }
            });
        }

        void call(String[] words) {
            ACLMessage cfp = new ACLMessage(ACLMessage.CFP);
            cfp.setProtocol("fipa-contract-net");
            cfp.setContent(words[1]);
            cfp.setReplyByDate(new Date(System.currentTimeMillis() + 5000));
            for (int at = 3; at < words.length; at += 1) {
                cfp.addReceiver(aid(words[at], words[2]));
            }
            addBehaviour(new ContractNetInitiator(this, inUtf8(cfp)) {
                protected void handleAllResponses(Vector responses, Vector acceptances) {
                    ACLMessage best = null;
                    for (Enumeration all = responses.elements(); all.hasMoreElements();) {
                        ACLMessage message = (ACLMessage) all.nextElement();
                        say("answer " + ACLMessage.getPerformative(message.getPerformative()) + " "
                            + message.getContent() + " of " + message.getSender().getName());
                        boolean isOffer = message.getPerformative() == ACLMessage.PROPOSE;
                        if (isOffer && (best == null || price(message) < price(best))) {
                            best = message;
                        }
                    }
                    for (Enumeration all = responses.elements(); all.hasMoreElements();) {
                        ACLMessage message = (ACLMessage) all.nextElement();
                        if (message.getPerformative() == ACLMessage.PROPOSE) {
                            ACLMessage decision = message.createReply();
                            decision.setPerformative(
                                message == best ? ACLMessage.ACCEPT_PROPOSAL : ACLMessage.REJECT_PROPOSAL);
                            decision.setContent(words[1]);
                            acceptances.addElement(decision);
                        }
                    }
                }

                protected void handleInform(ACLMessage inform) {
                    say("result " + inform.getContent() + " of " + inform.getSender().getName());
                }

                protected void handleOutOfSequence(ACLMessage message) {
                    say("out of sequence " + message.toString().replace("\n", " "));
                }

                public int onEnd() {
                    say("called");
                    return super.onEnd();
                }
            });
        }

        static double price(ACLMessage message) {
            return Double.parseDouble(message.getContent().trim());
        }
    }
}
