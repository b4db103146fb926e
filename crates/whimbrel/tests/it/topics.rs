//! Topics and groups in AgentSpeak.

use super::Scratch;

const BOSS: &str = r#"
!go.
+!go
   <- .wait(.count(ready(_), 3));
      .publish(news, tell, first);
      .send("topic:news", tell, second);
      .publish("nobody cares", tell, third);
      .wait(.count(heard(_, _), 4));
      .findall(h(A, What), heard(A, What), All); .sort(All, Heard); .print(Heard);
      .group_members(crew, Members); .sort(Members, Crew); .print(Crew);
      .send("any:crew", askOne, price(P), price(Price)); .print("a price: ", Price);
      .anycast(crew, achieve, job); .anycast(crew, achieve, job); .anycast(crew, achieve, job);
      .wait(.count(done(_), 3));
      .multicast(crew, tell, leave);
      .wait(.count(left(_), 3));
      !nobody_there;
      !bad_name;
      .stopMAS.

+!nobody_there <- .multicast(crew, tell, hello).
-!nobody_there[error(E), error_msg(M)] <- .print(E, ": ", M).
+!bad_name <- .subscribe("a@b").
-!bad_name[error(E), error_msg(M)] <- .print(E, ": ", M).
"#;

const WORKER: &str = r#"
price(10).
!go.
+!go <- .join_group(crew); .my_name(Me); !listen(Me); .send(boss, tell, ready(Me)).
+!listen(w3) <- .subscribe(news); .unsubscribe(news).
+!listen(_) <- .subscribe(news).
+first[source(S)] : .my_name(Me) <- .send(S, tell, heard(Me, first)).
+second[source(S)] : .my_name(Me) <- .send(S, tell, heard(Me, second)).
+!job[source(S)] : .my_name(Me) <- .send(S, tell, done(Me)).
+leave[source(S)] : .my_name(Me) <- .leave_group(crew); .send(S, tell, left(Me)).
"#;

#[test]
fn agents_publish_subscribe_and_share_work() {
    let project = "MAS x { agents: boss; w1 worker.asl; w2 worker.asl; w3 worker.asl; }";
    let scratch = Scratch::with(&[("x.mas2j", project), ("boss.asl", BOSS), ("worker.asl", WORKER)]);
    for nodes in ["1", "2"] {
        let seen = scratch.run(&["run", "x.mas2j", "--nodes", nodes]);
        let expected = "\
[boss] [h(w1,first),h(w1,second),h(w2,first),h(w2,second)]
[boss] [w1,w2,w3]
[boss] a price: 10
[boss] receiver_not_found: Receiver 'group:crew' does not exist! Could not send <mid";
        assert!(seen.out.starts_with(expected), "{nodes}: {}{}", seen.out, seen.err);
        let last = seen.out.lines().last().unwrap_or_default();
        let bad = "[boss] wrong_arguments: Wrong argument for internal action 'subscribe': \"a@b\" cannot name a topic or \
                   a group: expected 1 to 240 bytes without `@`";
        assert_eq!((last, seen.code), (bad, Some(0)), "{}", seen.err);
    }
}
