//! Mail in the charsets of its languages says what it says in UTF-8.

use encoding_rs::Encoding;
use tamis_train::{Document, Filter, Kind, Scratch, TrainOptions, Trainer};

/// A charset; subject and body of a ham and of a spam that are learned, and of a spam that is not.
const MAILS: [(&str, [[&str; 2]; 3]); 8] = [
    ("gb18030", CHINESE),
    (
        "big5",
        [
            ["會議", "星期三上午開會，請帶上報告"],
            ["發票", "代開發票，優惠，請電話聯繫"],
            ["優惠", "需要發票請聯繫"],
        ],
    ),
    ("koi8-r", RUSSIAN),
    ("windows-1251", RUSSIAN),
    (
        "iso-8859-9",
        [
            ["Toplantı", "Çarşamba günü öğleden önce görüşmek üzere, raporunuzu getirin"],
            ["Büyük fırsat", "Şimdi tıklayın, ücretsiz ödülünüzü kazanın"],
            ["Ödül", "Ücretsiz fırsat için tıklayın"],
        ],
    ),
    (
        "windows-1256",
        [
            ["اجتماع", "نلتقي يوم الأربعاء صباحا مع التقرير"],
            ["عرض خاص", "اربح جائزة مجانية الآن، اضغط هنا"],
            ["جائزة", "اضغط هنا واربح عرض مجانية"],
        ],
    ),
    (
        "shift_jis",
        [
            ["会議", "水曜日の午前に会いましょう、報告書を持って来てください"],
            ["当選", "無料で賞品が当たりました、今すぐクリック"],
            ["無料", "今すぐクリックして賞品を"],
        ],
    ),
    (
        "euc-kr",
        [
            ["회의", "수요일 오전에 만나요, 보고서를 가져오세요"],
            ["당첨", "무료 경품에 당첨되었습니다, 지금 클릭하세요"],
            ["무료", "지금 클릭하면 경품을 드립니다"],
        ],
    ),
];

const CHINESE: [[&str; 2]; 3] = [
    ["会议", "星期三上午开会，请带上报告"],
    ["发票", "代开发票，优惠，请电话联系"],
    ["优惠", "需要发票请联系"],
];

const RUSSIAN: [[&str; 2]; 3] = [
    ["Встреча", "Увидимся в среду утром, возьмите отчёт"],
    ["Выигрыш", "Поздравляем, бесплатный приз, нажмите сюда"],
    ["Приз", "Нажмите и получите выигрыш бесплатно"],
];

/// How the bytes of a body travel.
#[derive(Clone, Copy)]
enum Transfer {
    EightBit,
    QuotedPrintable,
}

fn quoted(bytes: &[u8], sign: char) -> String {
    bytes.iter().map(|byte| format!("{sign}{byte:02X}")).collect()
}

fn mail(charset: &str, [subject, body]: [&str; 2], transfer: Transfer) -> Vec<u8> {
    let encoding = Encoding::for_label(charset.as_bytes()).unwrap();
    let encode = |text| {
        let (bytes, _, has_others) = encoding.encode(text);
        assert!(!has_others, "{charset} has no {text}");
        bytes.into_owned()
    };
    let subject = quoted(&encode(subject), '=');
    let (name, body) = match transfer {
        Transfer::EightBit => ("8bit", encode(body)),
        // soft ends of lines may stand anywhere, also within a character
        Transfer::QuotedPrintable => {
            let lines = encode(body).chunks(7).map(|bytes| quoted(bytes, '=')).collect::<Vec<_>>();
            ("quoted-printable", lines.join("=\r\n").into_bytes())
        }
    };
    let head = format!(
        "Subject: =?{charset}?Q?{subject}?=\r\nContent-Type: text/plain; charset={charset}\r\n\
        Content-Transfer-Encoding: {name}\r\n\r\n"
    );
    [head.into_bytes(), body].concat()
}

fn trained(charset: &str, [ham, spam]: [[&str; 2]; 2], transfer: Transfer) -> Filter {
    let mut options = TrainOptions::new(Kind::Mail);
    // names of charsets are terms as well
    options.recipe.content_only = true;
    let mut trainer = Trainer::new(options).unwrap();
    trainer.add("ham", Document::Mail(&mail(charset, ham, transfer))).unwrap();
    trainer.add("spam", Document::Mail(&mail(charset, spam, transfer))).unwrap();
    trainer.finish().unwrap().into_filter().unwrap()
}

#[test]
fn mail_says_the_same_in_every_charset_of_its_language() {
    for (charset, [ham, spam, new]) in MAILS {
        let plain = trained("utf-8", [ham, spam], Transfer::EightBit);
        let mut scratch = Scratch::default();
        let mut log_odds =
            |filter: &Filter, raw: &[u8]| filter.score_mail(raw, &mut scratch).unwrap().log_odds;
        let expected = log_odds(&plain, &mail("utf-8", new, Transfer::EightBit));
        assert!(expected > 0.01, "{charset}: {expected}");
        for transfer in [Transfer::EightBit, Transfer::QuotedPrintable] {
            assert_eq!(log_odds(&plain, &mail(charset, new, transfer)), expected, "{charset}");
            let learned = trained(charset, [ham, spam], transfer);
            assert_eq!(log_odds(&learned, &mail("utf-8", new, Transfer::EightBit)), expected, "{charset}");
        }
    }
}
