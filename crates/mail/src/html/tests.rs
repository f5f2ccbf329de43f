use super::*;
use crate::html::page::MOST_LINKS;
use proptest::prelude::*;
use tamis_testing::check_linear;

#[test]
fn text() {
    for (html, expected) in [
        ("", ""),
        ("plain", "plain"),
        ("vi<b></b>ag<font color=red>r</font>a <span>x</span>y", "viagra xy"),
        ("vi<!-- x -->ag<!---->r<!x>a<x-unknown>!</x-unknown>", "viagra!"),
        ("a<!-- b -->c<!--rotate>d<b>e</b><!----", "ac"),
        ("sub<a name=x>scr</a>ibe", "subscribe"),
        ("one<br>two<p>three</p>four<div>five<li>six", "one\ntwo\nthree\nfour\nfive\nsix"),
        ("<table><tr><td>one<td>two<tr><th>three</table>", "one\ntwo\nthree"),
        ("<table cellspacing=0 cellpadding=0><tr><td>v<td>i</table>", "vi"),
        ("a<input>b<button>c</button>d<select><option>e</select>f", "a\nb\nc\nd\ne\nf"),
        ("<TITLE>Title</TITLE><H2>Head</H2>", "Head"),
        ("a <br> b", "a  b"),
        ("a<script>if (x<y) z('</p>')</script>b", "ab"),
        ("a<style>p { color: red }</style>b<STYLE><!-- </STYLE>c", "abc"),
        ("a<script>never closed", "a"),
        ("a<script>x-/script>y</script>b", "ab"),
        ("a<script><!-- -script></script>b", "ab"),
        ("<textarea>a<b>c</b></textarea><template>d</template>", "a<b>c</b>"),
        ("a<img alt='b &amp; c' src=x title=t>d", "a\nb & c\nd"),
        ("&lt;&eacute;&#8364;&#x41;&nosuch;&amp", "<é€A&nosuch;&"),
        ("1 < 2 > 1 <3 </> <>", "1 < 2 > 1 <3  <>"),
        ("cut <a href='x", "cut "),
    ] {
        assert_eq!(html_to_text(html), expected, "{html:?}");
    }
}

/// Checks which words can be read: those in capitals, and no others.
fn check(html: &str) {
    let found = read_html(html);
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let (seen, unseen) = (words(&found.text), words(&found.unseen));
    assert!(seen.iter().all(|word| *word == word.to_uppercase()), "{html}: seen {seen:?}");
    assert!(unseen.iter().all(|word| *word == word.to_lowercase()), "{html}: unseen {unseen:?}");
    let n_seen = html.split(|c: char| !c.is_ascii_uppercase()).filter(|word| word.len() > 1).count();
    assert_eq!(seen.len(), n_seen, "{html}: seen {seen:?}, unseen {unseen:?}");
}

#[test]
fn styles_and_attributes_hide() {
    for html in [
        "<p hidden>hid</p>SEE",
        "<p style='display:none'>hid<b style='display:block'>hid</b></p>SEE",
        "<p style='visibility:hidden'>hid <b style='visibility:visible'>SEE</b></p>",
        "<p style='opacity:.3'>SEE <b style='opacity:.3'>hid</b></p>",
        "<p style='font-size:0'>hid <b style='font-size:12px'>SEE</b></p><p style='font-size:1px'>hid",
        "<font color=white>hid</font><font color='#ffeeee'>hid</font><font color=red>SEE</font>",
        "<table bgcolor=black><tr><td><font color=white>SEE</font> <font color='#000100'>hid</font></table>",
        "<p style='color:rgba(0,0,0,.05)'>hid<p style='color:transparent'>hid<p style='color:#000'>SEE",
        "<p style='color:#fff;background:url(x.gif)'>SEE<p style='color:#fff;background:blue'>SEE",
        "<p style='position:absolute;left:-9999px'>hid<p style='left:-9999px'>SEE",
        "<p style='text-indent:-9999px'>hid<p style='margin-left:-5000px'>hid",
        "<p style='height:0;overflow:hidden'>hid<p style='height:0'>SEE<p style='max-height:1px;overflow:hidden'>hid",
        "<p style='clip:rect(0,0,0,0)'>SEE<p style='clip:rect(0,0,0,0);position:absolute'>hid",
        "<p style='clip-path:inset(100%)'>hid<p style='transform:scale(0)'>hid",
        "<title>hid</title><noframes>hid</noframes><template>hid</template><noscript>SEE</noscript>",
        "<details>hid<summary>SEE</summary>hid</details><details open>SEE</details><dialog>hid</dialog>",
        "<select><option>hid<option selected>SEE<option>hid</select><select><option>SEE<option>hid</select>",
        "<div style='color:white'>hid<input value=SEE><input type=hidden value=hid><button>SEE</button></div>",
        "<body text=white>hid<p style='background:black'>SEE</p>",
        "<img alt=SEE><img alt=hid width=1 height=1><img alt=hid style='display:none'>",
    ] {
        check(html);
    }
}

#[test]
fn style_sheets_hide() {
    for (sheet, body) in [
        (".a{display:none}", "<p class='b a'>hid</p><p class=b>SEE</p>"),
        ("#a{display:none} p{visibility:hidden}", "<i id=a>hid</i><p>hid</p><i>SEE</i>"),
        ("p.a.b, td#x{display:none}", "<p class=a>SEE<p class='b a'>hid"),
        (".a{display:none} p{display:block}", "<p class=a>hid"),
        (".a{display:none} .b{display:block}", "<p class='b a'>SEE"),
        (".a{display:none!important} #b{display:block}", "<p class=a id=b style='display:block'>hid"),
        (".a{display:none}", "<p class=a style='display:block'>SEE"),
        (".a .b{display:none} .c>.b{display:none}", "<p class=b>SEE<p class=a><i><b class=b>hid</b></i>"),
        ("[class^=a]{display:none}", "<p class=abc>hid<p class=bac>SEE"),
        ("@media print{.a{display:none}} @media screen{.b{display:none}}", "<p class=a>SEE<p class=b>hid"),
        (
            "@media (max-width:600px){.a{display:none}}@import 'x';.b{display:none}",
            "<p class=a>SEE<p class=b>hid",
        ),
        ("<!-- .a{display:none} -->", "<p class=a>hid"),
        ("/* .b{ */ .a{display:none} /* } */", "<p class=a>hid<p class=b>SEE"),
        (".a{d\\69splay:none} .b{content:'};';display:none}", "<p class=a>hid<p class=b>hid"),
        (".a{background:url(data:x;y);display:none}", "<p class=a>hid"),
        (".a{display:none;display:nonsense} .b{display:none;display:block}", "<p class=a>hid<p class=b>SEE"),
        (".a, p:nonsense{display:none} .b, p:hover{display:none}", "<p class=a>SEE<p class=b>hid"),
    ] {
        check(&format!("<style>{sheet}</style>{body}"));
        check(&format!("{body}<style>{sheet}</style>"));
    }
    check("<style media=print>p{display:none}</style><p>SEE");
    check("<style>.A{display:none}</style><p class=a>hid");
    check(
        "<!doctype html><style>.Ab{display:none}</style><p class=ab>SEE<p class=Ab>hid"
            .replace("Ab", "aB")
            .as_str(),
    );
}

#[test]
fn colours_are_those_of_browsers() {
    for (html, is_seen) in [
        ("<font color='3D\"#FFFFFF\"'>x", true),
        ("<body bgcolor=chucknorris><font color='#c00000'>x", false),
        ("<font color=fff>x", true),
        ("<p style='color:fff'>x", false),
        ("<!doctype html><p style='color:fff'>x", true),
        ("<p style='color:hsl(0,0%,100%)'>x", false),
        ("<p style='color:rgb(100% 100% 100% / 1)'>x", false),
        ("<p style='color:#ffff'>x", false),
        ("<p style='color:rgb(255,255,100%)'>x", true),
        ("<p style='color:white;text-shadow:1px 1px black'>x", true),
        ("<div style='color:white'><a href=x>x</a>", true),
        ("<div style='color:white'><a href=x style='color:inherit'>x</a>", false),
        ("<body link=white><a href=x>x</a>", false),
    ] {
        assert_eq!(read_html(html).text == "x", is_seen, "{html}");
    }
}

#[test]
fn tags_end_as_in_browsers() {
    for html in [
        "<p style='display:none'>hid<p>SEE",
        "<li style='display:none'>hid<li>SEE",
        "<table><tr><td style='display:none'>hid<td>SEE<tr style='display:none'><td>hid<tr><td>SEE</table>SEE",
        "<div><font color=white>hid</div>hid</font>SEE",
        "<font color=white><p>hid</font>SEE",
        "<table><tr><td><font color=white>hid</td><td>SEE",
        "<table style='display:none'>SEE<tr><td>hid</table> SEE",
        "<div style='display:none'><td>hid</div>SEE",
        "<b style='display:none'>hid<i>hid</b>SEE</i>",
        "<span style='display:none'>hid<p>hid</span>hid</p></span>SEE",
        "</div></p>SEE <body style='color:black'>SEE",
        "<div style='font-size:0'><table><tr><td>SEE</table></div>",
        "<!doctype html><div style='font-size:0'><table><tr><td>hid</table></div>",
    ] {
        check(html);
    }
}

#[test]
fn hidden_text_joins_or_parts_words() {
    for (html, expected) in [
        ("vi<span style='display:none'>xx</span>agra", "viagra"),
        ("vi<span style='font-size:0'>xx</span>agra", "viagra"),
        ("vi<wbr>ag&shy;ra", "viag\u{ad}ra"),
        ("buy<span style='visibility:hidden'>x</span>now", "buy\nnow"),
        ("buy<font color=white>x</font>now", "buy\nnow"),
        ("<b style='display:inline-block'>v</b><b style='display:inline-block'>i</b>", "vi"),
        ("<b style='display:inline-block;padding:4px'>v</b><b>i</b>", "v\ni"),
    ] {
        assert_eq!(html_to_text(html), expected, "{html}");
    }
}

#[test]
fn links() {
    let html = "<a href='http://a/?x=1&amp;y=2'><img src=HTTPS://b><a href=' mailto:c@d '><a href=ftp://e>\
                <a href='javascript:f()'><a href=/g><a href=#h><img src=cid:i><a href><a title='http://j'>";
    assert_eq!(read_html(html).links, ["http://a/?x=1&y=2", "HTTPS://b", "mailto:c@d", "ftp://e"]);
    assert_eq!(read_html(&"<a href=http://x>".repeat(1_000)).links.len(), MOST_LINKS);
}

#[test]
fn html_is_recognised() {
    assert!(looks_like_html("<!doctype html>\n<HTML lang=en>"));
    assert!(!looks_like_html("<htm <b>html") && !looks_like_html(""));
    assert!(!looks_like_html(&format!("{}<html>", " ".repeat(2_000))));
}

#[test]
fn hostile_documents_are_linear() {
    let units = [
        "<",
        "<a ",
        "<a b=\"",
        "<!--",
        "<b>",
        "</",
        "&",
        "&#",
        "<a b=c ",
        "<script>",
        "<script><!--",
        "</script",
        "<div>",
        "<![CDATA[",
        "é<",
        "x",
        "<p>x",
        "</x>",
        "<font color=red><p>x</font>",
        "<table><tr><td>",
        "<td><b>x",
        "</div>",
        "<i style='color:red'>",
        "<style>.a{color:red}</style>",
        "<b class=a>x</b>",
        "<form></form>",
        "<style>*{color:red}</style><i>x</i>",
        "<style>.a .a{color:red}</style><b class=a>x",
    ];
    for once in ["", "<a href=\"", "<a ", "<", "<script><!--", "<style>.a .b{color:red}</style>"] {
        check_linear(&units, |text| drop(read_html(&format!("{once}{text}"))));
    }
    let of_sheets = [
        "a",
        ".a{color:red}",
        "{",
        "}",
        "/*",
        "\"",
        "\\",
        "(",
        ",",
        "@media screen{",
        ";",
        "a b>c ",
        ":",
        "!",
    ];
    for once in ["<style>", "<style>.a{", "<p style=\"", "<style>@media "] {
        check_linear(&of_sheets, |text| drop(read_html(&format!("{once}{text}"))));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]
    #[test]
    fn equals_the_standard(
        html in "(</?(a|b|p|br|SCRIPT|style|img|scripts|table|td|title|textarea|font|é) ?|>|/>|<!-{0,3}|-{1,3}!?>|-|\
                 [ =\"'&;/#x0-9\t\n\r\x0c\0]|(href|Alt|src|class|COLOR|hidden|b|é)=?|&(amp|copy|nbsp|AM|notin|#x?)?;?|\
                 (http|MAILTO):|<[?!/]|<!doctype html>|.){0,60}"
    ) {
        // `</>` is not a token, but divides text here, and white space alone between cells is dropped
        let html = html.replace("</>", "x");
        prop_assert_eq!(read_html(&html), standard::read_html(&html));
    }

    #[test]
    fn scripts_equal_the_standard(
        html in "<(script|style|title|xmp|iframe|plaintext)>([<-]script|[<-]/script|</style|</title|</x|[ >/]|<!--|--!?>|-|<|&lt;|.){0,30}"
    ) {
        prop_assert_eq!(read_html(&html), standard::read_html(&html));
    }

    #[test]
    fn any_style_is_read(css in "(display|color|font|background|[a-z-]{1,9}|[:;{}()\\[\\]\"'\\\\/*!.#,>@%]|none|#fff|[0-9.]{1,4}(px|em|%)?|é| ){0,60}") {
        read_html(&format!("<style>{css}</style><p style=\"{}\" class=a>x", css.replace('"', "")));
    }

    #[test]
    fn text_without_markup_stays(text in "[^<&\r\0]*") {
        prop_assert_eq!(html_to_text(&text), text);
    }
}
