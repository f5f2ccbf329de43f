//! Mail that programs on its way added fields to is still the same mail.

use std::path::Path;

use tamis_train::{Document, Filter, Keep, Kind, LearnOptions, LearnOutcome, Learner, TrainOptions, Trainer};

/// What programs put in front of a message: the program, whether terms stay the same, the fields.
const ADDED: [(&str, bool, &str); 30] = [
    (
        "Postfix, local",
        false,
        "Return-Path: <anna@sender.example>\nX-Original-To: bob@example.org\nDelivered-To: bob@example.org\n\
        Received: from mx.sender.example (mx.sender.example [192.0.2.7])\n\tby mail.example.org (Postfix) with ESMTPS id 4XyZ1a2b3c\n\
        \tfor <bob@example.org>; Mon,  2 Mar 2026 10:00:03 +0100 (CET)\n",
    ),
    (
        "Postfix, relay",
        false,
        "Received: from localhost (localhost [127.0.0.1])\n\tby relay.example.org (Postfix) with ESMTP id 7F3A1C0042;\n\
        \tMon,  2 Mar 2026 10:00:05 +0100 (CET)\n",
    ),
    (
        "Postfix, sent on",
        false,
        "Received: by mail.example.org (Postfix, from userid 1001)\n\tid 0A1B2C3D4E; Mon,  2 Mar 2026 10:01:00 +0100 (CET)\n",
    ),
    ("Postfix, virtual", true, "X-Original-To: sales@example.org\nDelivered-To: bob@example.org\n"),
    (
        "Postfix, OpenDKIM",
        true,
        "Authentication-Results: mail.example.org;\n\tdkim=pass (2048-bit key) header.d=sender.example header.i=@sender.example\n",
    ),
    (
        "Postfix, policyd",
        true,
        "Received-SPF: Pass (mailfrom) identity=mailfrom; client-ip=192.0.2.7; helo=mx.sender.example;\n\
        \tenvelope-from=anna@sender.example; receiver=<UNKNOWN>\n",
    ),
    (
        "Exim, local",
        false,
        "Return-path: <anna@sender.example>\nEnvelope-to: bob@example.org\nDelivery-date: Mon, 02 Mar 2026 10:00:04 +0000\n\
        Received: from mx.sender.example ([192.0.2.7] helo=mx.sender.example)\n\tby mail.example.org with esmtps (TLS1.3) tls TLS_AES_256_GCM_SHA384\n\
        \t(Exim 4.96) (envelope-from <anna@sender.example>)\n\tid 1u7abc-0001Xy-2Z for bob@example.org; Mon, 02 Mar 2026 10:00:04 +0000\n",
    ),
    (
        "Exim, envelope alone",
        true,
        "Envelope-to: bob@example.org\nDelivery-date: Mon, 02 Mar 2026 10:00:04 +0000\n",
    ),
    (
        "Exim, a second path",
        false,
        "Return-path: <bounces+7@list.example.net>\nReturn-path: <anna@sender.example>\n",
    ),
    (
        "Exim, pipe",
        false,
        "Received: from bob by mail.example.org with local (Exim 4.97)\n\t(envelope-from <bob@example.org>)\n\tid 1u7abd-0002AB-1C; Mon, 02 Mar 2026 10:05:00 +0000\n",
    ),
    (
        "Dovecot, LDA",
        false,
        "Return-Path: <anna@sender.example>\nDelivered-To: bob@example.org\nReceived: from mail.example.org ([127.0.0.1])\n\
        \tby mail.example.org with LMTP\n\tid aBcDeFgHiJkLmNoP\n\t(envelope-from <anna@sender.example>)\n\tfor <bob@example.org>; Mon, 02 Mar 2026 10:00:06 +0100\n",
    ),
    (
        "Dovecot, mbox",
        true,
        "X-UID: 42\nStatus: RO\nX-Keywords: $Forwarded NonJunk                     \nContent-Length: 117\n",
    ),
    (
        "Dovecot, first of an mbox",
        true,
        "X-IMAPbase: 1772442000 0000000042 NonJunk $Forwarded\nX-UID: 1\nStatus: O\n",
    ),
    (
        "UW IMAP",
        true,
        "X-IMAP: 1772442000 0000000007\nStatus: RO\nX-Status: A\nX-Keywords:                    \nX-UID: 7\n",
    ),
    (
        "Dovecot, Sieve",
        true,
        "X-Sieve: Pigeonhole Sieve 0.5.19 (4eae2f79)\nX-Sieve-Redirected-From: sales@example.org\n",
    ),
    ("procmail", true, "Lines: 4\nContent-Length: 118\nX-Folder: INBOX\n"),
    ("procmail, formail", false, "Old-Return-Path: <anna@sender.example>\nReturn-Path: <bob@example.org>\n"),
    (
        "procmail, an mbox",
        true,
        "From anna@sender.example Mon Mar  2 10:00:09 2026\nStatus: RO\nX-Status: \n",
    ),
    (
        "fetchmail",
        false,
        "Received: from pop.provider.example [198.51.100.9]\n\tby desk.example.org with POP3 (fetchmail-6.4.37)\n\
        \tfor <bob@localhost> (single-drop); Mon, 02 Mar 2026 11:00:00 +0100 (CET)\nX-Fetchmail-Warning: recipient address bob did not match\n",
    ),
    (
        "fetchmail, by IMAP",
        false,
        "Received: from imap.provider.example [198.51.100.10]\n\tby desk.example.org with IMAP (fetchmail-6.5.1 polling imap.provider.example account bob)\n\
        \tfor <bob@localhost> (single-drop); Mon, 02 Mar 2026 11:30:00 +0100 (CET)\n",
    ),
    (
        "getmail",
        false,
        "Return-Path: <anna@sender.example>\nDelivered-To: unknown\nX-getmail-retrieved-from-mailbox: INBOX\nReceived: from pop.provider.example (198.51.100.9) by desk with POP3-SSL;\n\t02 Mar 2026 10:10:00 -0000\n",
    ),
    (
        "Gmail",
        false,
        "Delivered-To: bob@gmail.example\nReceived: by 2002:a05:6a20:1234:b0:1c2 with SMTP id xy12csp345678pzb;\n        Mon, 2 Mar 2026 01:00:07 -0800 (PST)\n\
        X-Google-Smtp-Source: AGHT+IEfakefakefakefake\nX-Received: by 2002:a17:907:9706:b0:abc with SMTP id jg6-20020a17090797;\n        Mon, 02 Mar 2026 01:00:06 -0800 (PST)\n\
        Return-Path: <anna@sender.example>\nReceived: from mx.sender.example (mx.sender.example. [192.0.2.7])\n        by mx.google.example with ESMTPS id a1-2si34567ejc.8.2026.03.02.01.00.06\n\
        \x20       for <bob@gmail.example>\n        (version=TLS1_3 cipher=TLS_AES_256_GCM_SHA384 bits=256/256);\n        Mon, 02 Mar 2026 01:00:06 -0800 (PST)\n",
    ),
    (
        "Gmail, ARC",
        true,
        "ARC-Seal: i=1; a=rsa-sha256; t=1772442006; cv=none;\n        d=google.example; s=arc-20240605;\n        b=Zm9vYmFy\n\
        ARC-Message-Signature: i=1; a=rsa-sha256; c=relaxed/relaxed; d=google.example; s=arc-20240605;\n        h=mime-version:to:subject:from;\n        bh=Zm9v; b=YmFy\n\
        ARC-Authentication-Results: i=1; mx.google.example;\n       spf=pass smtp.mailfrom=anna@sender.example\n",
    ),
    (
        "Gmail, results",
        true,
        "Received-SPF: pass (google.example: domain of anna@sender.example designates 192.0.2.7 as permitted sender) client-ip=192.0.2.7;\n\
        Authentication-Results: mx.google.example;\n       dkim=pass header.i=@sender.example header.s=s1;\n       dmarc=pass (p=NONE) header.from=sender.example\n",
    ),
    ("Gmail, takeout", true, "X-GM-THRID: 1825000000000000001\nX-Gmail-Labels: Inbox,Opened\n"),
    (
        "Exchange, transport",
        false,
        "Received: from AM0PR01MB1234.eurprd01.prod.exchange.example (2603:10a6:208:1::17)\n by DB7PR01MB5678.eurprd01.prod.exchange.example with HTTPS; Mon, 2 Mar 2026 10:00:08 +0000\n\
        Received: from mx.sender.example (192.0.2.7) by\n AM0EUR02FT012.mail.protection.exchange.example (10.13.54.1) with Microsoft SMTP Server\n (version=TLS1_3, cipher=TLS_AES_256_GCM_SHA384) id 15.20.8489.18 via Frontend Transport; Mon, 2 Mar 2026 10:00:07 +0000\n",
    ),
    (
        "Exchange, organization",
        true,
        "X-MS-Exchange-Organization-ExpirationStartTime: 02 Mar 2026 10:00:07.1234 (UTC)\nX-MS-Exchange-Organization-SCL: 1\n\
        X-MS-Exchange-Organization-AuthAs: Anonymous\nX-MS-Exchange-Organization-Network-Message-Id: 0a1b2c3d-0000-4000-8000-08dd5971\nX-EOPAttributedMessage: 0\n",
    ),
    (
        "Exchange, filters",
        true,
        "X-Forefront-Antispam-Report: CIP:192.0.2.7;CTRY:DE;LANG:en;SCL:1;SFV:NSPM;\nX-Microsoft-Antispam: BCL:0;ARA:13230040\n\
        X-Microsoft-Antispam-Message-Info: Zm9vYmFy\nX-MS-PublicTrafficType: Email\nX-MS-TrafficTypeDiagnostic: AM0EUR02FT012:EE_|DB7PR01MB5678:EE_\n",
    ),
    (
        "Exchange, tenants",
        true,
        "X-MS-Exchange-CrossTenant-OriginalArrivalTime: 02 Mar 2026 10:00:07.0000 (UTC)\nX-MS-Exchange-CrossTenant-Id: 1234\n\
        X-MS-Exchange-Transport-CrossTenantHeadersStamped: DB7PR01MB5678\nX-MS-Exchange-Transport-EndToEndLatency: 00:00:01.5\n",
    ),
    (
        "Thunderbird",
        true,
        "X-Mozilla-Status: 0001\nX-Mozilla-Status2: 00000000\nX-Mozilla-Keys: \nX-Account-Key: account1\nX-UIDL: 1234567890.M1P2.mail\n",
    ),
];

/// A message of its own for each number, as its sender wrote it.
fn message(number: usize) -> String {
    format!(
        "Received: from desk.sender.example (desk.sender.example [192.0.2.33])\n\tby mx.sender.example (Postfix) with ESMTPSA id 1{number};\n\
         \tMon,  2 Mar 2026 09:59:58 +0100 (CET)\nFrom: Anna <anna@sender.example>\nTo: bob@example.org\n\
         Subject: Order {number}\nDate: Mon, 2 Mar 2026 09:59:57 +0100\nMessage-ID: <order.{number}@sender.example>\n\
         MIME-Version: 1.0\nContent-Type: text/plain; charset=utf-8\n\nYour order number{number} of part{number} has left us.\n"
    )
}

/// A model of mail that remembers of its documents what is asked.
fn trained(keep: Keep, names: bool, ham: &[String]) -> Trainer {
    let mut options = TrainOptions::new(Kind::Mail);
    (options.keep, options.names) = (Some(keep), names);
    let mut trainer = Trainer::new(options).unwrap();
    for i in 0..10 {
        let spam = format!(
            "From: x{i}@pills.example\nTo: bob@example.org\nSubject: pills\n\nCheap pills {i}, buy now\n"
        );
        trainer.add("spam", Document::Mail(spam.as_bytes())).unwrap();
        let lunch = format!(
            "From: y{i}@example.org\nTo: bob@example.org\nSubject: lunch\n\nSoup at noon, table {i}?\n"
        );
        trainer.add("ham", Document::Mail(lunch.as_bytes())).unwrap();
    }
    ham.iter().for_each(|raw| trainer.add("ham", Document::Mail(raw.as_bytes())).unwrap());
    trainer
}

fn learner(path: &Path) -> Learner {
    Learner::open(path, LearnOptions::default()).unwrap()
}

/// Documents of each class, and the counts of every term, as text.
fn counts(filter: &Filter) -> Vec<String> {
    let mut lines = Vec::new();
    tamis_train::exchange::export(filter, false, &mut lines).unwrap();
    let lines = String::from_utf8(lines).unwrap();
    let counted = lines.lines().skip(1).map(|line| line.split(",\"weights\"").next().unwrap().to_owned());
    counted.map(|line| line.trim_end_matches('}').to_owned()).collect()
}

fn moved(from: &str) -> LearnOutcome {
    LearnOutcome::Moved { from: vec![from.to_owned()] }
}

#[test]
fn what_storing_programs_add_makes_no_other_digest() {
    let filter = trained(Keep::Vectors, true, &[]).finish().unwrap().into_filter().unwrap();
    for (number, (program, is_same, fields)) in ADDED.into_iter().enumerate() {
        let digest = |raw: &str| filter.digest(Document::Mail(raw.as_bytes())).unwrap();
        let (before, after) = (message(number), fields.to_owned() + &message(number));
        if is_same {
            assert_eq!(digest(&before), digest(&after), "{program}");
        }
    }
}

/// Learned before, moved after: one document throughout, and the counts are those of the one that was learned last.
fn check_moves(path: &Path) {
    for (number, (program, _, fields)) in ADDED.into_iter().enumerate() {
        let (before, after) = (message(number), fields.to_owned() + &message(number));
        let mut learner = learner(path);
        let learn = |learner: &mut Learner, label: &str, raw: &str| {
            learner.learn(label, Document::Mail(raw.as_bytes())).unwrap()
        };
        let at_first = counts(learner.filter());
        assert_eq!(learn(&mut learner, "ham", &after), LearnOutcome::New, "{program}");
        learner.forget(None, Document::Mail(after.as_bytes())).unwrap();
        learn(&mut learner, "spam", &after);
        let expected = counts(learner.filter());
        learner.forget(None, Document::Mail(after.as_bytes())).unwrap();
        assert_eq!(counts(learner.filter()), at_first, "{program}");

        assert_eq!(learn(&mut learner, "ham", &before), LearnOutcome::New, "{program}");
        assert_eq!(learn(&mut learner, "ham", &after), LearnOutcome::Already, "{program}");
        match number % 3 {
            0 => drop(learner.commit().unwrap()),
            1 => learner.compact().unwrap(),
            _ => (),
        }
        assert_eq!(learn(&mut learner, "spam", &after), moved("ham"), "{program}");
        assert_eq!(counts(learner.filter()), expected, "{program}");
        assert_eq!(learn(&mut learner, "spam", &before), LearnOutcome::Already, "{program}");
        learner.commit().unwrap();
        learner.filter().verify().unwrap();
        learner.forget(Some("spam"), Document::Mail(before.as_bytes())).unwrap();
        assert_eq!(counts(learner.filter()), at_first, "{program}");
    }
}

#[test]
fn mail_learned_before_thirty_programs_added_fields_moves_after() {
    let folder = tempfile::tempdir().unwrap();
    for names in [true, false] {
        let path = folder.path().join(format!("{names}.tamis"));
        trained(Keep::Vectors, names, &[]).finish().unwrap().save(&path).unwrap();
        check_moves(&path);
    }
}

/// What was learned by training, in shards and taken over from an export is known as well.
#[test]
fn mail_that_was_trained_moves_whatever_way_the_model_went() {
    let folder = tempfile::tempdir().unwrap();
    let ham: Vec<String> = (0..ADDED.len()).map(message).collect();
    let direct = trained(Keep::Vectors, false, &ham).finish().unwrap();
    let partial = trained(Keep::Vectors, false, &ham).into_partial().unwrap();
    let of_shards = partial.to_trainer().unwrap().finish().unwrap();
    assert!(of_shards == direct);
    let mut lines = Vec::new();
    let filter = Filter::from_bytes(direct.as_bytes().to_vec()).unwrap();
    tamis_train::exchange::export(&filter, true, &mut lines).unwrap();
    let imported = tamis_train::exchange::import(&lines[..]).unwrap();
    assert!(imported == direct);
    let path = folder.path().join("model.tamis");
    imported.save(&path).unwrap();
    let mut learner = learner(&path);
    for (number, (program, _, fields)) in ADDED.into_iter().enumerate() {
        let after = fields.to_owned() + &message(number);
        let learned = learner.learn("spam", Document::Mail(after.as_bytes())).unwrap();
        assert_eq!(learned, moved("ham"), "{program}");
    }
    learner.commit().unwrap();
    learner.filter().verify().unwrap();
    assert_eq!(learner.filter().information().size.documents, 20 + ADDED.len());
}

#[test]
fn another_body_or_message_id_is_another_mail() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.tamis");
    trained(Keep::Vectors, true, &[message(1)]).finish().unwrap().save(&path).unwrap();
    let mut learner = learner(&path);
    let hop = ADDED[1].2;
    let another_body = format!("{hop}{}PS: pills\n", message(1));
    let another_id = format!("{hop}{}", message(1).replace("order.1@", "order.1b@"));
    let without_id = |raw: &str| raw.replace("Message-ID: <order.1@sender.example>\n", "");
    let mut learn = |raw: &str| learner.learn("spam", Document::Mail(raw.as_bytes())).unwrap();
    for raw in [another_body, another_id, hop.to_owned() + &without_id(&message(1))] {
        assert_eq!(learn(&raw), LearnOutcome::New, "{raw}");
    }
    // without a Message-ID, From, To, Date and Subject stand in for it
    assert_eq!(learn(&without_id(&message(1))), LearnOutcome::Already);
    let another_subject = without_id(&message(1)).replace("Subject: ", "Subject: Re: ");
    assert_eq!(learn(&another_subject), LearnOutcome::New);
}

#[test]
fn a_model_that_forgot_terms_subtracts_no_others() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.tamis");
    let (before, after) = (message(1), ADDED[1].2.to_owned() + &message(1));
    trained(Keep::Digests, true, std::slice::from_ref(&before)).finish().unwrap().save(&path).unwrap();
    let mut learner = learner(&path);
    let at_first = counts(learner.filter());
    assert_eq!(learner.learn("ham", Document::Mail(after.as_bytes())).unwrap(), LearnOutcome::Already);
    let beside = learner.learn("spam", Document::Mail(after.as_bytes())).unwrap();
    assert_eq!(beside, LearnOutcome::Beside { labels: vec!["ham".to_owned()] });
    learner.forget(Some("spam"), Document::Mail(after.as_bytes())).unwrap();
    assert_eq!(counts(learner.filter()), at_first);
    // as it was learned, it is known
    assert_eq!(learner.learn("spam", Document::Mail(before.as_bytes())).unwrap(), moved("ham"));
    learner.compact().unwrap();
    learner.filter().verify().unwrap();
}

#[test]
fn mail_of_a_named_group_moves_too_and_is_known_without_the_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.tamis");
    let mut trainer = trained(Keep::Vectors, true, &[]);
    trainer.add_in_group("ham", Some("anna"), Document::Mail(message(1).as_bytes())).unwrap();
    trainer.finish().unwrap().save(&path).unwrap();
    let mut learner = learner(&path);
    let hop = ADDED[1].2.to_owned();
    let again = hop.clone() + &message(1);
    assert_eq!(learner.learn("ham", Document::Mail(again.as_bytes())).unwrap(), LearnOutcome::Already);
    assert_eq!(learner.learn("spam", Document::Mail(again.as_bytes())).unwrap(), moved("ham"));
    let of_bob = |learner: &mut Learner, label: &str, raw: &str| {
        learner.learn_in_group(label, Some("bob"), Document::Mail(raw.as_bytes())).unwrap()
    };
    assert_eq!(of_bob(&mut learner, "ham", &message(1)), moved("spam"));
    assert_eq!(of_bob(&mut learner, "ham", &message(2)), LearnOutcome::New);
    learner.commit().unwrap();
    let again = hop + &message(2);
    assert_eq!(learner.learn("spam", Document::Mail(again.as_bytes())).unwrap(), moved("ham"));
}
