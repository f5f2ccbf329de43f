"""Text of generated words in many languages, seeded: words and letters as long and as frequent as there.

A language has 100,000 words, drawn by Zipf's law; frequent ones are short (Zipf's other law). Letters are drawn by their
frequencies in that language, of Indian, Thai and Korean writing by syllables that are possible. Sentences have capitals, commas
and full stops. Each class has words that are more frequent in it.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate
from math import log

WORDS = 100_000
# Words of a class that are more frequent in it, and how many times so.
OF_CLASS, TIMES = 300, 12


def chooser(frequencies):
    """Draws letters: `frequencies` are letters, each with its number behind it."""
    fields = frequencies.split()
    letters, cumulated = fields[::2], list(accumulate(map(int, fields[1::2])))
    return lambda dice, n=1: dice.choices(letters, cum_weights=cumulated, k=n)


def alphabet(frequencies, finals=""):
    """Words of letters. `finals`: pairs of a letter and what it is at the end of a word."""
    letters = chooser(frequencies)
    last = dict(zip(finals[::2], finals[1::2]))

    def word(dice, length):
        drawn = letters(dice, length)
        drawn[-1] = last.get(drawn[-1], drawn[-1]) if length > 1 else drawn[-1]
        return "".join(drawn)

    return word


LATIN = "e 127 t 91 a 82 o 75 i 70 n 67 s 63 h 61 r 60 d 43 l 40 c 28 u 28 m 24 w 24 f 22 g 20 y 20 p 19 b 15 v 10 k 8 j 2 x 2 q 1 z 1"
FRENCH = (
    "e 121 a 71 i 66 s 65 n 64 r 61 t 59 o 50 l 50 u 45 d 37 c 32 m 26 p 25 é 19 g 12 b 11 v 11 h 11 f 11 q 7 y 5 à 5 x 4 è 3 j 3 "
    "k 3 ê 2 z 2 w 2 ç 1 ô 1 â 1 î 1 ù 1 û 1 œ 1"
)
RUSSIAN = (
    "о 110 е 84 а 80 и 74 н 67 т 63 с 55 р 47 в 45 л 44 к 35 м 32 д 30 п 28 у 26 я 20 ы 19 ь 17 г 17 з 16 б 16 ч 14 й 12 х 10 ж 9 "
    "ш 7 ю 6 ц 5 щ 4 э 3 ф 3 ъ 1 ё 1"
)
GREEK = (
    "α 87 σ 80 τ 77 ο 75 ν 65 ε 64 ι 60 η 46 ρ 41 κ 39 υ 38 π 37 μ 33 λ 28 ά 20 ί 20 ό 20 ω 19 δ 17 γ 17 έ 16 ή 14 χ 11 θ 11 ύ 9 φ 8 "
    "ώ 8 β 7 ξ 4 ζ 4 ψ 1"
)
HEBREW = (
    "י 110 ה 109 ו 104 ל 74 מ 70 א 63 ר 57 ת 50 ב 47 ש 44 נ 43 ע 33 כ 28 ד 25 ח 25 ק 21 פ 17 ס 15 ג 13 ז 13 צ 12 ט 12"
)
ARABIC = (
    "ا 127 ل 117 ي 75 م 64 و 60 ن 58 ر 49 ت 44 ب 42 ع 36 د 33 س 30 ف 30 ه 28 ك 25 ق 24 أ 22 ح 20 ة 20 ج 15 ش 11 ص 10 ط 10 خ 9 إ 8 ى 7 "
    "ز 7 ث 6 ذ 6 ض 6 غ 5 ئ 4 ء 3 ؤ 2 ظ 2 آ 2"
)


def hindi():
    """Syllables: a consonant, at times two that are joined, and its vowel sign; at the beginning also a vowel. `length` is of
    code points."""
    consonants = chooser(
        "क 85 र 95 न 65 स 60 ह 60 त 58 म 50 ल 40 प 40 य 40 द 38 व 35 ज 30 ब 28 ग 28 च 18 श 18 ट 18 भ 14 ख 13 थ 13 ध 13 ड 12 ष 9 ण 8 फ 7 "
        "छ 6 ठ 6 घ 5 झ 3 ड़ 4"
    )
    vowels = chooser("अ 20 आ 13 इ 14 ए 12 उ 10 औ 6 ई 6 ओ 3 ऐ 2 ऊ 1")
    signs = chooser("ा 95 े 70 ि 50 ी 50 ो 40 ं 30 ु 25 ू 15 ें 10 ै 25 ौ 5 ृ 4 ँ 6 ों 12")

    def word(dice, length):
        text = vowels(dice)[0] if dice.random() < 0.12 else ""
        while len(text) < length:
            text += consonants(dice)[0]
            draw = dice.random()
            if draw < 0.12:
                text += "्" + consonants(dice)[0]
            if draw > 0.4:
                text += signs(dice)[0]
        return text

    return word


def thai():
    """Syllables: a vowel before or behind the consonant, a tone, a last consonant. `length` is of code points."""
    consonants = chooser(
        "น 70 ร 65 ก 60 ม 45 ท 40 ส 38 ล 38 ว 37 ต 30 ด 28 ค 28 ห 25 ป 25 พ 25 บ 25 จ 22 ข 20 ช 18 ย 30 ง 12 อ 30 ผ 10 ซ 6 ถ 6 ศ 5 ฟ 4 ณ 4"
    )
    before, behind = chooser("เ 50 แ 20 ไ 18 โ 12 ใ 10"), chooser("า 75 ี 30 ั 40 ิ 28 ะ 18 ำ 12 ู 12 ุ 15 ื 12 ึ 6")
    last, tones = chooser("น 30 ง 30 ก 18 ม 15 ย 15 บ 10 ด 12 ว 10"), chooser("่ 60 ้ 55 ๊ 2 ๋ 2")

    def word(dice, length):
        text = ""
        while len(text) < length:
            leads, tone, ends = dice.random() < 0.3, dice.random() < 0.3, dice.random() < 0.5
            text += before(dice)[0] * leads + consonants(dice)[0]
            vowel = "" if leads or dice.random() < 0.15 else behind(dice)[0]
            # a tone is above the vowel, but before one that is beside the consonant
            beside = vowel in ("า", "ะ", "ำ")
            tone = tones(dice)[0] if tone else ""
            text += (tone + vowel if beside else vowel + tone) + (last(dice)[0] if ends and vowel not in ("ะ", "ำ") else "")
        return text

    return word


def korean():
    """Syllables of Hangul, each a beginning, a vowel and an end."""
    starts = chooser("11 22 0 16 9 11 3 10 5 8 12 8 7 8 2 7 6 6 18 6 14 3 16 2 17 2 15 2 4 1 1 1 8 1 10 1 13 1")
    vowels = chooser("0 22 20 16 18 11 4 10 8 10 13 7 5 5 1 5 6 4 2 2 9 2 12 1 7 1 11 1 14 1 16 1 17 1 19 2 3 1 10 1 15 1")
    ends = chooser("0 60 4 14 8 9 21 8 1 5 16 5 17 3 19 2 20 2 7 1")

    def word(dice, length):
        parts = zip(*(map(int, part(dice, length)) for part in (starts, vowels, ends)))
        return "".join(chr(0xAC00 + (start * 21 + vowel) * 28 + end) for start, vowel, end in parts)

    return word


def ideographs(encoding, rows):
    """Those in the first rows of an encoding, the usual ones, by Zipf's law in an order of their own."""
    every = [bytes([row, cell]).decode(encoding, "ignore") for row in rows for cell in range(0xA1, 0xFF)]
    every = [character for character in every if character]
    random.Random(encoding).shuffle(every)
    cumulated = list(accumulate(1 / (rank + 20) for rank in range(len(every))))
    return lambda dice, length: "".join(dice.choices(every, cum_weights=cumulated, k=length))


def japanese():
    """Ideographs, and words of Hiragana and Katakana between them."""
    han = ideographs("euc_jp", range(0xB0, 0xD0))
    hiragana = alphabet(
        "の 60 い 55 に 45 る 45 た 45 は 40 と 40 を 38 て 38 が 36 し 50 な 42 で 34 こ 24 っ 26 れ 24 も 24 か 34 す 28 ら 24 り 22 ま 30 う 30 "
        "く 22 き 18 さ 20 あ 16 け 14 ん 26 そ 12 だ 16 ど 10 よ 16 つ 14 え 14 わ 10 お 16 ば 8 め 10 み 10"
    )
    katakana = alphabet("ン 60 ー 70 ス 40 ル 35 ト 40 ラ 30 リ 28 イ 36 ア 28 ク 26 ド 22 シ 24 タ 18 フ 16 レ 18 ロ 18 ム 16 テ 16 マ 14 プ 14 カ 16 コ 14 メ 12")

    def word(dice, length):
        kind = dice.random()
        if kind < 0.45:
            return hiragana(dice, length)
        return katakana(dice, length + 2) if kind > 0.9 else han(dice, length)

    return word


@dataclass
class Language:
    """`letters`: the mean length of a running word, in what its words are made of."""

    name: str
    letters: float
    word: Callable
    space: str = " "
    comma: str = ", "
    stop: str = ". "

    def lexicon(self, seed):
        """Words, the most frequent first."""
        dice, words = random.Random(f"{self.name} {seed}"), {}
        while len(words) < WORDS:
            # at rank 1 some half of the mean, which running words have at rank e^6 or so
            mean = self.letters * (0.45 + 0.55 * log(len(words) + 1) / 6)
            length = max(1, round(dice.gauss(mean, 0.3 * mean)))
            word = str(dice.randrange(10**length)) if dice.random() < 0.01 else self.word(dice, length)
            # short ones run out: what is taken already is tried again, a bit longer in the end
            for _ in range(20):
                if word not in words:
                    break
                length += dice.random() < 0.1
                word = self.word(dice, length)
            words[word] = None
        return list(words)


LANGUAGES = {
    language.name: language
    for language in [
        Language("English", 4.7, alphabet(LATIN)),
        Language("French", 4.8, alphabet(FRENCH)),
        Language("Russian", 5.5, alphabet(RUSSIAN)),
        Language("Greek", 5.4, alphabet(GREEK, "σς")),
        Language("Hebrew", 4.4, alphabet(HEBREW, "כךמםנןפףצץ")),
        Language("Arabic", 4.7, alphabet(ARABIC), comma="، "),
        Language("Hindi", 3.6, hindi(), stop="। "),
        Language("Thai", 3.6, thai(), space="", comma=" ", stop=" "),
        Language("Korean", 2.9, korean()),
        Language("Japanese", 1.9, japanese(), space="", comma="、", stop="。"),
        Language("Chinese", 1.6, ideographs("gb2312", range(0xB0, 0xD8)), space="", comma="，", stop="。"),
    ]
}


class Texts:
    """Documents of a language and of classes named a, b, c ..."""

    def __init__(self, language, classes, seed=1, times=TIMES):
        self.language, self.seed = LANGUAGES[language], seed
        self.words = self.language.lexicon(seed)
        dice = random.Random(f"classes {seed}")
        self.cumulated = {}
        for label in "abcdefghijklmnopqrstuvwxyz"[:classes]:
            weights = [1 / (rank + 3.7) for rank in range(WORDS)]
            for rank in dice.sample(range(100, 20_000), OF_CLASS):
                weights[rank] *= times
            self.cumulated[label] = list(accumulate(weights))

    def documents(self, number, words, seed):
        """So many pairs of a label and a text of so many words."""
        dice, labels = random.Random(f"{self.seed} {seed}"), list(self.cumulated)
        for _ in range(number):
            label = dice.choice(labels)
            drawn = dice.choices(self.words, cum_weights=self.cumulated[label], k=words)
            yield label, self.text(dice, drawn)

    def text(self, dice, words):
        space, comma, stop = self.language.space, self.language.comma, self.language.stop
        sentences, start = [], 0
        while start < len(words):
            middle = start + dice.randint(3, 9)
            end = middle + dice.randint(3, 9)
            parts = space.join(words[start:middle]), space.join(words[middle:end])
            sentence = comma.join(filter(None, parts))
            sentences.append(sentence[:1].upper() + sentence[1:])
            start = end
        return (stop.join(sentences) + stop).strip()

    def write(self, path, number, words, seed):
        """A table with a header, tabs between its columns."""
        with open(path, "w", encoding="utf-8") as table:
            table.write("label\ttext\n")
            table.writelines(f"{label}\t{text}\n" for label, text in self.documents(number, words, seed))
        return path
