// The npm package says what the program says, in Node and in Chromium.
//
// NPM_PACKAGE is the folder that contrib/package/npm has made, TAMIS_BIN the program.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { chromium, inChromium } from "./chromium.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, "../../..");
const made = process.env.NPM_PACKAGE;
const { Filter } = await import(pathToFileURL(join(made, "tamis/tamis.cjs")));

const folder = mkdtempSync(join(tmpdir(), "tamis-npm-"));
after(() => rmSync(folder, { recursive: true }));
const tamis = (...args) => execFileSync(process.env.TAMIS_BIN, args, { cwd: root, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
const lines = (output) => output.trim().split("\n").map((line) => JSON.parse(line));

// Each model with what the program says of documents.
const models = { mail: ["ham=corpora/mail/ham", "spam=corpora/mail/spam"], topics: ["corpora/topics/train"] };
const expected = {};
for (const [model, sources] of Object.entries(models)) {
    const file = join(folder, `${model}.tamis`);
    tamis("train", "-q", "-m", file, ...sources);
    expected[model] = lines(tamis("label", "-q", "-m", file, "--all", "--format", "jsonl", `corpora/${model}`));
}
const open = (model, options) => Filter.fromBytes(readFileSync(join(folder, `${model}.tamis`)), options);
const document = (path) => readFileSync(join(root, path));

/** A score with the program's keys. */
const figures = ({ label, logOdds, probabilities, probability }) => ({ label, log_odds: logOdds, probabilities, probability });

/** Fails unless scores are the program's: to the last bit but for one figure in a thousand, which may be two units in the last place off. */
function assertAgree(scores, rows) {
    const all = (rows) => rows.map(({ label, log_odds, probabilities, probability }) => [label, log_odds, probability, Object.entries(probabilities)]).flat(3);
    const [got, told] = [all(scores), all(rows)];
    assert.equal(got.length, told.length);
    const others = got.map((figure, at) => [figure, told[at]]).filter(([figure, it]) => figure !== it);
    for (const [figure, it] of others) {
        assert.ok(Math.abs(figure - it) <= 2 * Number.EPSILON * Math.abs(it), `${figure}, not ${it}`);
    }
    assert.ok(others.length <= got.length / 1000, `${others.length} of ${got.length} differ`);
}

for (const model of Object.keys(models)) {
    test(`${model}: the figures are the program's, nearly all to the last bit`, () => {
        const filter = open(model);
        assertAgree(expected[model].map(({ path }) => figures(filter.score(document(path)))), expected[model]);
        assert.ok(expected[model].length > 150);
    });

    test(`${model}: an explanation is the program's`, () => {
        const filter = open(model);
        for (const { path } of expected[model].slice(0, 20)) {
            const args = ["--json", "--terms", "0", "-m", join(folder, `${model}.tamis`), path];
            const told = JSON.parse(tamis("explain", ...args));
            const { score, label, against, intercept, terms, unknown } = filter.explain(document(path));
            assert.deepStrictEqual(score, filter.score(document(path)));
            assert.deepStrictEqual(
                { label, against, intercept, terms, unknown },
                { label: told.class, against: told.against, intercept: told.intercept, terms: told.terms, unknown: told.unknown },
                path,
            );
            assert.deepStrictEqual(filter.explain(document(path), 3).terms, terms.slice(0, 3));
        }
    });
}

test("a text may be a string or bytes, and its model says what it is for", () => {
    const filter = open("topics");
    assert.deepStrictEqual(filter.labels, ["astronomy", "cooking", "cycling", "gardening", "programming"]);
    assert.deepStrictEqual([filter.kind, filter.isSpamFilter], ["text", false]);
    assert.deepStrictEqual([open("mail").kind, open("mail").isSpamFilter], ["mail", true]);
    const text = "Which telescope shows the rings of Saturn? 🪐 \ud800";
    const score = filter.score(text);
    assert.deepStrictEqual(score, filter.score(new TextEncoder().encode(text)));
    assert.deepStrictEqual([score.label, score.isSpam, score.isUnsure, score.truncated], ["astronomy", false, false, false]);
    assert.equal(open("topics", { unsure: 0.999999 }).score(text).label, "unsure");
    assert.ok(open("mail", { spamLabel: "ham" }).score("Subject: lunch\n\nSoup?\n").probability > 0.5);
});

test("an ArrayBuffer is taken for bytes, and many documents at once", () => {
    const { buffer } = Uint8Array.from(readFileSync(join(folder, "topics.tamis")));
    const filter = Filter.fromBytes(buffer, {});
    const texts = ["Which telescope shows the rings of Saturn?", "flour and butter", ""];
    const scores = texts.map((text) => filter.score(text));
    assert.deepStrictEqual(scores, texts.map((text) => filter.score(new TextEncoder().encode(text).buffer)));
    assert.deepStrictEqual(filter.scoreMany(texts), scores);
    assert.deepStrictEqual(filter.scoreMany([]), []);
    assert.notDeepStrictEqual(scores[0], scores[1]);
});

test("the rows of a table are objects of their columns", () => {
    const file = join(folder, "rides.tamis");
    const rides = Array.from({ length: 40 }, (_, n) => ({ way: n % 3 ? "bus" : "walk", miles: n % 3 ? 3 + n / 7 : n / 40, sky: n % 5 ? "clear" : "rain", wet: n % 4 === 0 }));
    const csv = ["way,miles,sky,wet", ...rides.map((ride) => Object.values(ride).join(","))].join("\n");
    writeFileSync(join(folder, "rides.csv"), csv);
    tamis("train", "-q", "--target", "way", "-m", file, join(folder, "rides.csv"));
    const filter = Filter.fromBytes(readFileSync(file));
    assert.equal(filter.kind, "table");
    const told = lines(tamis("label", "-q", "-m", file, "--all", "--format", "jsonl", join(folder, "rides.csv")));
    const scores = filter.scoreMany(rides);
    assertAgree(scores.map(figures), told);
    assert.ok(new Set(scores.map(({ label }) => label)).size === 2);
    assert.match(filter.explain(rides[0]).terms.map(({ term }) => term).join(), /miles=0/);
    const missing = { miles: NaN, sky: null, wet: undefined };
    assert.deepStrictEqual(filter.score({ ...missing, other: "ignored" }), filter.score({ miles: "", sky: "", wet: "" }));
    assert.notDeepStrictEqual(filter.score(missing), scores[0]);
    assert.throws(() => filter.score({ miles: 1, sky: "rain" }), /expected a column "wet", got none/);
    assert.throws(() => filter.score({ miles: [1], sky: "rain", wet: true }), /column "miles": expected text, a number, or true or false/);
    for (const row of ["1,rain", 5, [1, "rain"], null, new ArrayBuffer(3)]) {
        assert.throws(() => filter.score(row), /expected a row, as an object of columns/);
    }
});

test("a model of many labels gives a document those that the program gives", () => {
    const file = join(folder, "many.tamis");
    const texts = { fruit: "apples and pears", metal: "iron and tin", "fruit,metal": "tin of pears", "": "rain and wind" };
    const rows = Object.entries(texts).flatMap(([label, text]) => Array.from({ length: 20 }, (_, day) => JSON.stringify({ label: label.split(",").filter(Boolean), text: `${text}, day ${day}` })));
    writeFileSync(join(folder, "many.jsonl"), rows.join("\n"));
    tamis("train", "-q", "--labels", "many", "-m", file, join(folder, "many.jsonl"));
    const filter = Filter.fromBytes(readFileSync(file));
    assert.ok(filter.hasManyLabels && !open("topics").hasManyLabels);
    for (const [at, text] of Object.values(texts).entries()) {
        writeFileSync(join(folder, `${at}.txt`), text);
        const [told] = lines(tamis("label", "-q", "-m", file, "--format", "jsonl", join(folder, `${at}.txt`)));
        const { labels, probabilities } = filter.score(text);
        assert.deepStrictEqual(labels, told.label);
        assert.deepStrictEqual(labels.map((label) => probabilities[label]), told.probability);
    }
    assert.deepStrictEqual([filter.score("tin of pears").labels.length, filter.score("rain and wind").labels], [2, []]);
});

test("what is wrong is an error that says so", () => {
    const filter = open("topics");
    assert.throws(() => Filter.fromBytes(new Uint8Array(9)), /model/);
    assert.throws(() => Filter.fromBytes([9]), /expected a Uint8Array or an ArrayBuffer/);
    assert.throws(() => new Filter(), /^Error: expected Filter\.fromBytes\(bytes\), got new Filter\(\)$/);
    assert.throws(() => open("topics", { unsure: 1 }), /unsure/);
    assert.throws(() => open("topics", { unsure: "0.9" }), /unsure: expected a number/);
    assert.throws(() => open("topics", { spamLabel: "junk" }), /junk/);
    assert.throws(() => open("topics", { spam_label: "ham" }), /expected the options unsure and spamLabel, got "spam_label"/);
    assert.throws(() => open("topics", 0.9), /expected options, as an object/);
    for (const document of [5, null, undefined, {}, ["a"]]) {
        assert.throws(() => filter.score(document), /expected a string, a Uint8Array or an ArrayBuffer/);
    }
    assert.throws(() => filter.scoreMany("a text"), /expected an array/);
    assert.throws(() => filter.scoreMany(["a text", 5]), /^Error: document 1: expected a string/);
    assert.throws(() => filter.score(Uint8Array.of(0xff)), /utf-8/i);
    // and the filter still answers
    assert.equal(filter.score("flour and butter").label, "cooking");
});

test("a damaged model is an error or says what the whole one says, and never traps", () => {
    const model = readFileSync(join(folder, "mail.tamis"));
    const message = document("corpora/mail/inbox/01.eml");
    const whole = open("mail").explain(message);
    let refused = 0;
    for (let at = 0; at < model.length; at += at < 4096 ? 7 : 997) {
        for (const damaged of [Buffer.from(model), model.subarray(0, at)]) {
            if (damaged.length > at) damaged[at] ^= 0x81;
            let filter;
            try {
                filter = Filter.fromBytes(damaged);
                assert.deepStrictEqual(filter.explain(message), whole);
            } catch (error) {
                assert.equal(error.constructor, Error, `${at}: ${error}`);
                refused += 1;
            }
            filter?.free();
        }
    }
    assert.ok(refused > 500, `${refused}`);
});

test("the example of the README runs, in a module and by require", () => {
    const readme = readFileSync(join(made, "tamis/README.md"), "utf8");
    const [, code] = readme.match(/```js\n(.*?)```/s);
    mkdirSync(join(folder, "node_modules"));
    symlinkSync(join(made, "tamis"), join(folder, "node_modules/tamis"));
    writeFileSync(join(folder, "example.mjs"), code);
    const printed = execFileSync(process.execPath, ["example.mjs"], { cwd: folder, encoding: "utf8" });
    const [, output] = readme.match(/```text\n(.*?)```/s);
    assert.equal(printed, output);
    // and so it does for those who require it, of the same class
    const required = `const { readFileSync } = require("node:fs");\nconst { Filter } = require("tamis");\n${code.replace(/^import .*\n/gm, "").replace("await readFile", "readFileSync")}
import("tamis").then((module) => console.log(module.Filter === Filter));`;
    writeFileSync(join(folder, "example.cjs"), required);
    assert.equal(execFileSync(process.execPath, ["example.cjs"], { cwd: folder, encoding: "utf8" }), `${output}true\n`);
});

const skip = !chromium && !process.env.TAMIS_SKIP_NOTHING && "skipped: there is no chromium";

test("Chromium says the same, and so does the page", { skip }, async () => {
    const documents = {};
    for (const [model, rows] of Object.entries(expected)) documents[model] = rows.map(({ path }) => document(path).toString("base64"));
    writeFileSync(join(folder, "documents.json"), JSON.stringify(documents));
    const folders = { package: join(made, "tamis"), page: join(made, "page"), data: folder, tests: here };
    const { scores, page } = await inChromium(folders, "/tests/browser.mjs");
    for (const [model, rows] of Object.entries(expected)) {
        assertAgree(scores[model].map(figures), rows);
    }
    assert.deepStrictEqual([page.text.label, page.text.labels, page.text.terms > 0], ["astronomy", 5, true]);
    assert.match(page.text.first, /^astronomy\s+\d\d\.\d\d%/);
    assert.match(page.notAModel, /^notes.txt: .*model/);
    assert.equal(page.opened, "mail.tamis: ham, spam");
    assert.match(page.mail.label, /^(spam|unsure)$/);
});

test("a vector beside a document is scored and explained as by the program", () => {
    const rows = Array.from({ length: 60 }, (_, i) => {
        const [label, noise] = [i % 2 ? "food" : "cars", (i * i % 7) / 8];
        return { label, text: `${label}${i} word`, vector: i % 2 ? [1, noise] : [noise, 1] };
    });
    const table = join(folder, "vectors.jsonl");
    writeFileSync(table, rows.map((row) => JSON.stringify(row)).join("\n"));
    tamis("train", "-q", "-m", join(folder, "vectors.tamis"), table);
    const told = lines(tamis("label", "-q", "-m", join(folder, "vectors.tamis"), "--all", "--format", "jsonl", table));
    const filter = open("vectors");
    assertAgree(rows.map(({ text, vector }) => figures(filter.score(text, { vector: Float32Array.from(vector) }))), told);
    const vector = Float32Array.of(1, 0);
    const { terms, score } = filter.explain("word", undefined, { vector });
    assert.ok(terms.some(({ term }) => term === "vector of 2"));
    assert.deepStrictEqual(score, filter.score("word", { vector }));
    assert.notEqual(score.logOdds, filter.score("word").logOdds);
    assert.throws(() => filter.score("word", { vector: Float32Array.of(1, 0, 0) }), /expected 2 features, got 3/);
    assert.throws(() => filter.score("word", { vector: [1, 0] }), /expected a Float32Array/);
});
