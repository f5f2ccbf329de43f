// How long a model and a text take.

function median(times) {
    return times.sort((a, b) => a - b)[times.length >> 1];
}

function time(work) {
    const start = performance.now();
    work();
    return performance.now() - start;
}

/** Milliseconds: to open a model, for the first text after that, and for each text of `texts` once they have been seen. */
export function measure(Filter, model, texts) {
    const opening = [], first = [], each = [];
    for (let round = 0; round < 21; round++) {
        let filter;
        opening.push(time(() => (filter = Filter.fromBytes(model))));
        first.push(time(() => filter.score(texts[round % texts.length])));
        for (const text of texts) filter.score(text);
        each.push(time(() => texts.forEach((text) => filter.score(text))) / texts.length);
        filter.free();
    }
    return { open: median(opening), first: median(first), text: median(each) };
}

/** In the browser, with what the bench serves. */
export default async function () {
    const { Filter } = await import("/package/index.js");
    const model = await (await fetch("/page/topics.tamis")).arrayBuffer();
    return measure(Filter, new Uint8Array(model), await (await fetch("/data/texts.json")).json());
}
