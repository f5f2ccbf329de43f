// What the tests do in the browser: score documents, and use the page as a reader does.

const until = async (is) => {
    while (!is()) await new Promise((later) => setTimeout(later, 10));
};

/** The scores of all documents, by model. */
async function scores() {
    const { Filter } = await import("/package/index.js");
    const documents = await (await fetch("/data/documents.json")).json();
    const scores = {};
    for (const [model, texts] of Object.entries(documents)) {
        const bytes = await (await fetch(`/data/${model}.tamis`)).arrayBuffer();
        const filter = Filter.fromBytes(new Uint8Array(bytes));
        const decoded = texts.map((text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0)));
        scores[model] = decoded.map((document) => filter.score(document));
        filter.free();
    }
    return scores;
}

/** What the page says of a text and its example, and then of a message and a model of mail that is chosen. */
async function page() {
    const frame = document.createElement("iframe");
    frame.src = "/page/index.html";
    document.body.append(frame);
    await new Promise((loaded) => (frame.onload = loaded));
    const of = frame.contentDocument;
    const at = (id) => of.getElementById(id);
    const type = (text) => {
        at("text").value = text;
        at("text").dispatchEvent(new Event("input"));
        const rows = [...at("labels").rows].map((row) => row.innerText.trim());
        return { label: at("label").value, first: rows[0], labels: rows.length, terms: at("terms").rows.length };
    };
    const choose = async (name, bytes) => {
        const chosen = new frame.contentWindow.DataTransfer();
        chosen.items.add(new File([bytes], name));
        at("file").files = chosen.files;
        at("file").dispatchEvent(new Event("change"));
        await until(() => at("model").textContent.startsWith(name));
        return at("model").textContent;
    };
    await until(() => at("model").textContent.includes("astronomy"));
    const text = type("Which telescope shows the rings of Saturn?");
    const notAModel = await choose("notes.txt", "no model at all");
    const opened = await choose("mail.tamis", await (await fetch("/data/mail.tamis")).blob());
    const mail = type("Subject: offer\n\nbuy cheap pills, free shipping\n");
    return { text, notAModel, opened, mail };
}

export default async () => ({ scores: await scores(), page: await page() });
