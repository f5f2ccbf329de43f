"""`tamis mailbox` and what other programs mark as junk, or as none: the keywords `$Junk`, `Junk`, `$NotJunk`, `NonJunk`, `NotJunk`."""

import hashlib
import os
import re
import time
from pathlib import Path

from agent import DAY, Agent, move, name_of, odd_set_up, topic_mail
from dovecot import Dovecot, bodies, ok
from imapd import Box, arrivals
from owners import mailbox_of
from support import ROOT, Skipped, check, equal, wait_for

# the keywords of what an agent has sorted as junk
AGENTS = {"tamis-spam", "$Junk"}


def of(box, message):
    """The UID of a message in a folder."""
    [uid] = [uid for uid, (it, _) in box.messages.items() if it == message]
    return uid


def mark(box, message, *keywords):
    """Gives a message these keywords, in place of all others but those of agents."""
    uid = of(box, message)
    it, flags = box.messages[uid]
    box.messages[uid] = it, {flag for flag in flags if flag.startswith(("\\", "tamis-"))} | set(keywords)


def marks():
    """Junk and ham: in place, later, taken away, both, in whichever case, carried along when a message is moved."""
    boxes = {"INBOX": Box(), "Junk": Box("\\Junk"), "Archive": Box("\\Archive")}
    inbox, junk, archive = boxes.values()
    imapd, agent = mailbox_of(boxes)
    run = lambda *arguments: agent.run("run", "--once", "-q", *arguments)
    numbers = iter(range(1_000, 2_000))
    learned = lambda message: agent.learned("eve").get(name_of(message), [])

    def has(message, label, what):
        for _ in range(2):
            run()
            equal(learned(message), [label] if label else [], what)

    run()
    # as it arrives, as if read and left for days, it stays where it is
    for n, keyword in enumerate(("$Junk", "Junk", "$JUNK")):
        message = topic_mail("something new", next(numbers))
        uid = inbox.add(message, [keyword, "\\Seen"])
        arrivals[message] = time.time() - 5 * DAY * (n % 2)
        has(message, "spam", f"marked {keyword} in the inbox")
        check(uid in inbox.messages, "it stays")
    # later, and taken away: it is as if it had never been marked
    message = topic_mail("something else", next(numbers))
    inbox.add(message)
    has(message, None, "unread in the inbox")
    mark(inbox, message, "$Junk")
    has(message, "spam", "marked later")
    mark(inbox, message)
    has(message, None, "no longer marked")
    mark(inbox, message, "\\Seen")
    has(message, "ham", "read and left, not marked")
    # of two marks the later one counts; before that, no junk
    mark(inbox, message, "NonJunk", "$Junk")
    has(message, "ham", "both at once")
    mark(inbox, message, "NonJunk")
    run()
    mark(inbox, message, "NonJunk", "$Junk")
    has(message, "spam", "junk after no junk")
    mark(inbox, message, "Junk")
    run()
    mark(inbox, message, "$NotJunk", "Junk")
    has(message, "ham", "no junk after junk")
    # what is no junk is not junked, whatever the model says, and not when it is asked to sort all
    message = topic_mail("Junk", next(numbers))
    uid = inbox.add(message, ["$NotJunk"])
    run()
    has(message, "ham", "no junk in the inbox")
    run("--existing")
    check(uid in inbox.messages, "it is not junked")
    # in the junk, in a folder of kept mail
    message = topic_mail("something for all", next(numbers))
    junk.add(message, ["$Junk", "\\Seen"])
    run("--dry-run")
    equal(learned(message), [], "a dry run learns nothing")
    mark(junk, message, "$NotJunk")
    has(message, "ham", "no junk, though it lies there")
    mark(junk, message, "\\Seen")
    has(message, "spam", "no longer, read and left there")
    message = topic_mail("something kept", next(numbers))
    archive.add(message, ["$Junk"])
    has(message, "spam", "junk in the archive")
    # what is moved after it was marked belongs where it was moved
    junk.add(*archive.messages.pop(of(archive, message)))
    run()
    archive.add(*junk.messages.pop(of(junk, message)))
    has(message, "ham", "moved with the mark it had")
    # the provider's, of which its owner has decided nothing
    message = topic_mail("something bad", next(numbers))
    junk.add(message, ["$Junk"])
    has(message, None, "marked where the provider put it")
    # trained anew, all stays as it is
    message = topic_mail("something old", next(numbers))
    inbox.add(message, ["Junk"])
    before = dict(agent.learned("eve"))
    agent.run("train")
    learned_anew = agent.learned("eve")
    equal((learned_anew[name_of(message)], {name for name in before if learned_anew.get(name) != before[name]}), (["spam"], set()), "trained anew")
    # not heard
    agent.change(("ignore_marks = false", "ignore_marks = true"))
    message = topic_mail("something quiet", next(numbers))
    inbox.add(message, ["$Junk"])
    has(message, None, "marks that are not heard")
    imapd.close()
    return "in place, later, taken away, both, moved, trained, not heard"


def topics():
    """Folders as labels: what is no junk is sorted as ever, but not into the junk."""
    boxes = {"INBOX": Box(), "Junk": Box("\\Junk"), "Rust": Box()}
    inbox, junk, rust = boxes.values()
    imapd, agent = mailbox_of(boxes)
    run = lambda: agent.run("run", "--once", "-q")
    learned = lambda message: agent.learned("eve").get(name_of(message), [])
    run()
    sorted_away, bad, junked, filed = (topic_mail(name, 1_000 + n) for n, name in enumerate(("Rust", "Junk", "Junk", "Rust")))
    inbox.add(sorted_away, ["NonJunk"])
    inbox.add(bad, ["NonJunk"])
    inbox.add(junked)
    rust.add(filed)
    for _ in range(2):
        run()
    check(of(rust, sorted_away) and of(inbox, bad) and of(junk, junked), "places")
    equal([learned(message) for message in (sorted_away, bad, junked, filed)], [[], [], [], ["Rust"]], "what was learned")
    # its owner says otherwise of each
    mark(inbox, bad, "$Junk")
    mark(rust, sorted_away, "$Junk")
    mark(junk, junked, "$NotJunk")
    mark(rust, filed, "$Junk")
    for _ in range(2):
        run()
    equal([learned(message) for message in (bad, sorted_away, junked, filed)], [["spam"], ["spam"], ["inbox"], ["spam"]], "marked later")
    # no junk after all, and nothing that says what else
    mark(inbox, bad, "$NotJunk")
    mark(rust, filed)
    run()
    equal((learned(bad), learned(filed)), ([], []), "forgotten")
    mark(rust, filed, "\\Seen")
    run()
    equal(learned(filed), ["Rust"], "read and left, not marked")
    imapd.close()
    return "sorted, marked, no longer"


def own():
    """What an agent marks is no decision of its owner: on other machines, on servers with few keywords; what comes back loses it."""
    few = ["\\Seen", "\\Deleted", "$Junk", "$NotJunk"]
    for permanent_flags in (None, few):
        boxes = {"INBOX": Box(), "Junk": Box("\\Junk"), "Rust": Box()}
        inbox, junk, _ = boxes.values()
        imapd, one = mailbox_of(boxes)
        imapd.permanent_flags = permanent_flags
        other = Agent()
        odd_set_up(imapd, other)
        other.change(("confirm_days = 1", "confirm_days = 0"))
        other.run("train")
        for agent in (one, other):
            agent.run("run", "--once")
        messages = [topic_mail("Junk", 1_000 + n) for n in range(4)]

        def look():
            for agent in (one, other) * 2:
                agent.run("run", "--once", "-q")

        for message in messages:
            inbox.add(message)
        look()
        equal([flags for _, flags in junk.messages.values() if flags], [] if permanent_flags else [AGENTS] * 4, "keywords")
        equal((len(inbox.messages), len(junk.messages)), (40, 44), "sorted")
        for agent in (one, other):
            check(not set(map(name_of, messages)) & set(agent.learned("eve")), "nothing is learned")
        if not permanent_flags:
            # taken back by its owner, who then marks it after all, in Thunderbird's way; called no junk in place; undone
            inbox.add(*junk.messages.pop(of(junk, messages[0])))
            mark(junk, messages[1], "$Junk", "NonJunk")
            look()
            for agent in (one, other):
                equal([agent.learned("eve").get(name_of(it)) for it in messages], [["inbox"], ["inbox"], None, None], "what its owner did")
            equal(inbox.messages[of(inbox, messages[0])][1], {"tamis-spam"}, "keywords of what came back")
            mark(inbox, messages[0], "Junk")
            look()
            for agent in (one, other):
                equal(agent.learned("eve")[name_of(messages[0])], ["spam"], "marked after all")
            one.run("undo")
            equal(inbox.messages[of(inbox, messages[2])][1], {"tamis-spam"}, "keywords of what was undone")
        # flagged in the inbox
        message = topic_mail("Junk", 2_000)
        inbox.add(message)
        for agent in (one, other):
            agent.change(('action = "move"', 'action = "flag"'))
        look()
        check(of(inbox, message), "it stays")
        for agent in (one, other):
            check(name_of(message) not in agent.learned("eve"), "what is flagged is not learned")
        imapd.close()
    return "two agents; any keywords, few keywords; taken back, undone, flagged"


def live():
    """A real server, two agents that run, and a program that marks: each hears what its owner says, and not the other."""
    server, now = Dovecot(), int(time.time())
    for name in ("INBOX", "Junk"):
        server.fill("anna", name, [(now - 9 * DAY + n, topic_mail(name, n)) for n in range(60)], seen=False)
    agents, client = [Agent(), Agent()], server.client("anna")
    for agent in agents:
        agent.set_up(server, "anna")
        agent.change(("poll_seconds = 60", "poll_seconds = 1"))
        agent.run("train")
        agent.start()
    for agent in agents:
        agent.wait_for_look("anna")

    def arrive(message, flags=None):
        ok(client.append("INBOX", flags, None, message))
        return message

    def change(name, message, flags):
        [uid] = [uid for uid, it in bodies(client, name).items() if it == message]
        ok(client.select(name))
        ok(client.uid("STORE", str(uid), flags[:6] + ".SILENT", f"({flags[6:]})"))

    def heard(message, expected, what):
        said = lambda: [agent.learned("anna").get(name_of(message)) for agent in agents]
        wait_for(lambda: said() == [expected] * 2, f"{what}: {said()}")

    # what one agent has sorted is marked, and neither learns it, while they hear what comes after it
    spam = [arrive(topic_mail("Junk", 1_000 + n)) for n in range(5)]
    wait_for(lambda: len(bodies(client, "Junk")) == 65, "all are sorted")
    ok(client.select("Junk", readonly=True))
    equal(len(ok(client.uid("SEARCH", "KEYWORD", "$Junk", "KEYWORD", "tamis-spam"))[0].split()), 5, "messages with the keywords of agents")
    message = arrive(topic_mail("something new", 1), "($Junk)")
    heard(message, ["spam"], "marked as it arrived")
    change("INBOX", message, "-FLAGS$Junk")
    heard(message, None, "no longer marked")
    change("INBOX", message, "+FLAGSJunk")
    heard(message, ["spam"], "marked later")
    change("Junk", spam[0], "+FLAGSNonJunk")
    heard(spam[0], ["ham"], "no junk in the junk")
    friend = arrive(topic_mail("Junk", 2_000), "($NotJunk)")
    heard(friend, ["ham"], "no junk in the inbox")
    inbox, junk = (set(bodies(client, name).values()) for name in ("INBOX", "Junk"))
    check({message, friend} <= inbox and set(spam) <= junk, "what is marked stays")
    for agent in agents:
        check(not set(map(name_of, spam[1:])) & set(agent.learned("anna")), "what an agent has marked is learned")
        agent.kill()
    client.logout()
    return "two agents on Dovecot; as it arrives, later, no longer, in the junk, in the inbox"


def corpus():
    """Ham and spam of SpamAssassin's corpus, in an order that does not depend on their names."""
    folder = Path(os.environ.get("TAMIS_CORPORA", ROOT.parent / "shared/corpora")) / "spamassassin"
    if not folder.is_dir():
        raise Skipped(f"there is no {folder}")
    found = []
    for label in ("ham", "spam"):
        mails = {path.read_bytes() for path in (folder / label).rglob("*") if path.is_file()}
        mails = sorted((re.sub(rb"\r?\n", b"\r\n", it) for it in mails if b"\0" not in it), key=lambda it: hashlib.md5(it).digest())
        found.append(mails)
    return found


def marked_spam():
    """Real mail, real server: spam that is marked teaches nearly as much as spam that is moved; what is no junk is not junked."""
    ham, spam = corpus()
    server, now, junked, lost = Dovecot(), int(time.time()), {}, {}
    for way in ("neither", "moved", "marked", "marked later"):
        user = way.replace(" ", "-")
        server.fill(user, "INBOX", [(now - 60 * DAY + n * 3_600, it) for n, it in enumerate(ham[:150])])
        server.fill(user, "Junk", [(now - 60 * DAY + n * 3_600, it) for n, it in enumerate(spam[:2])])
        agent, client = Agent(), server.client(user)
        agent.set_up(server, user)
        agent.run("train")
        run = lambda: agent.run("run", "--once", "-q")
        run()

        def arrive(mails, flags=None):
            for message in mails:
                ok(client.append("INBOX", flags, None, message))

        if way != "neither":
            arrive(spam[100:220], "($Junk)" if way == "marked" else None)
        if way not in ("marked", "neither"):
            run()
            there = [uid for uid, message in bodies(client, "INBOX").items() if message in spam]
            ok(client.select("INBOX"))
            for uid in there:
                if way == "moved":
                    move(client, uid, "Junk")
                else:
                    ok(client.uid("STORE", str(uid), "+FLAGS.SILENT", "($Junk)"))
        run()
        before = len(bodies(client, "Junk"))
        if way == "marked":
            equal(before, 2, "what is marked stays")
            left = ok(client.select("INBOX", readonly=True)) and ok(client.uid("SEARCH", "KEYWORD", "$Junk"))[0].split()
            equal(len(left), 120, "what is marked stays")
        arrive(spam[300:400])
        run()
        junked[way] = len(bodies(client, "Junk")) - before
        arrive(ham[400:500])
        run()
        lost[way] = len(bodies(client, "Junk")) - before - junked[way]
        if way == "moved":
            for mails, flags in ((spam[510:520], None), (spam[500:510], "($NotJunk)")):
                arrive(mails, flags)
                run()
            there = [message for message in bodies(client, "Junk").values() if message in spam[500:520]]
            ours = sum(message in spam[500:510] for message in there)
            check(len(there) - ours >= 5, f"only {len(there) - ours} of 10 others are junked")
            equal(ours, 0, "of 10 that are no junk, in the junk")
        client.logout()
    said = ", ".join(f"{way} {n}" for way, n in junked.items())
    check(junked["neither"] < 10, f"two spams say too much: {said}")
    check(min(junked["marked"], junked["marked later"]) >= max(85, junked["moved"] - 5), f"of 100 new spams, in the junk: {said}")
    return f"of 100 new spams, in the junk after 120 were: {said}; of 100 new ham: {lost}; of 10 that are no junk: 0"
