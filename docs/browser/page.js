// Labels what is typed, with a model that the page has or that is chosen.
import { Filter } from "./tamis/index.js";

const MOST_TERMS = 12;
const KINDS = {
    mail: "The model is for mail: paste a message with its header fields.",
    text: "The model is for text.",
    table: "The model is for rows of a table, which this page does not ask for.",
};
const at = (id) => document.getElementById(id);
const percent = new Intl.NumberFormat("en", { style: "percent", minimumFractionDigits: 2 });
const signed = new Intl.NumberFormat("en", { signDisplay: "always", minimumFractionDigits: 3, maximumFractionDigits: 3 });
let filter;

function element(name, properties, ...children) {
    const made = Object.assign(document.createElement(name), properties);
    made.append(...children);
    return made;
}

const number = (text, side = "") => element("td", { className: `number ${side}` }, text);

function row(name, ...cells) {
    return element("tr", {}, element("th", { scope: "row" }, name), ...cells);
}

function answer() {
    if (!filter) return;
    try {
        const start = performance.now();
        const { score, label, against, terms } = filter.explain(at("text").value, MOST_TERMS);
        at("time").textContent = `in ${(performance.now() - start).toFixed(1)} ms`;
        at("label").textContent = filter.hasManyLabels ? score.labels.join(", ") || "no label" : score.label;
        const labels = Object.entries(score.probabilities).sort((a, b) => b[1] - a[1]);
        at("labels").replaceChildren(
            ...labels.map(([name, p]) =>
                row(name, number(percent.format(p)), element("td", { ariaHidden: "true" }, element("meter", { value: p }))),
            ),
        );
        at("against").textContent = `Terms that decided: ${label}${against === label ? "" : ` against ${against}`}`;
        at("terms").replaceChildren(
            ...terms.map(({ term, count, contribution }) =>
                row(term, number(count), number(signed.format(contribution), contribution < 0 ? "from" : "for")),
            ),
        );
    } catch (error) {
        at("label").textContent = error.message;
        for (const id of ["time", "labels", "terms"]) at(id).replaceChildren();
    }
}

async function open(name, file) {
    try {
        const bytes = new Uint8Array(await file.arrayBuffer());
        const opened = Filter.fromBytes(bytes);
        filter?.free();
        filter = opened;
        at("model").textContent = `${name}: ${filter.labels.join(", ")}`;
        at("hint").textContent = KINDS[filter.kind];
        answer();
    } catch (error) {
        at("model").textContent = `${name}: ${error.message}`;
    }
}

at("text").addEventListener("input", answer);
at("file").addEventListener("change", () => {
    const [file] = at("file").files;
    if (file) open(file.name, file);
});
await open("topics.tamis", await fetch("topics.tamis"));
