// What mailparser or postal-mime shows of messages: reader.js mailparser|postal-mime < PATHS, with the output of reader.py.
// npm install mailparser postal-mime, and NODE_PATH names the folder node_modules.
const fs = require('fs');
const lines = require('readline').createInterface({ input: process.stdin });

const library = require(process.argv[2]);
// no text is made of HTML, nor the reverse
const OPTIONS = { skipHtmlToText: true, skipTextToHtml: true, skipImageLinks: true, skipTextLinks: true, keepCidLinks: true };
const parse = library.simpleParser
  ? octets => library.simpleParser(octets, OPTIONS)
  : octets => library.parse(octets, { attachmentEncoding: 'arraybuffer' });
const DEEPEST = 60;

async function collect(octets, attached, depth, parts) {
  const message = await parse(octets);
  if (message.text) parts.push(['text/plain', attached, message.text]);
  if (message.html) parts.push(['text/html', attached, message.html]);
  for (const attachment of message.attachments || []) {
    const type = String(attachment.contentType || attachment.mimeType || '').toLowerCase();
    const content = Buffer.from(attachment.content);
    if (type === 'message/rfc822' && depth < DEEPEST) await collect(content, true, depth + 1, parts);
    else if (type.startsWith('text/')) parts.push([type, true, content.toString('utf8')]);
  }
  return parts;
}

(async () => {
  for await (const path of lines) {
    const parts = await collect(fs.readFileSync(path), false, 0, []).catch(() => null);
    process.stdout.write(`${JSON.stringify(parts)}\n`);
  }
})();
