// What a person can read of a page. seen.py runs this in the page of one HTML part, and takes the value of the last line:
// the readable text, and the alternative texts of images that have a place on the page.
//
// Nodes are read in the order of the document. A piece of text is a whole node, or one of its words where the node is cut off.
// Pieces that touch on the page are one word, whatever tags stand between them.

// Text is unreadable below these: pixels of a letter, contrast (1 to 21), opacity, and the share of its area that is not cut off.
const LEAST = { height: 4, contrast: 1.15, opacity: 0.1, area: 0.25 };
// Letters narrower than this share of their height lie on each other.
const NARROWEST = 0.08;
// A wider gap than this share of the letters' height separates words.
const WORD_GAP = 0.12;
// A text has this many pixels of line for one of letter height, in most fonts.
const LINE_HEIGHT = 1.15;
const UNREAD = /^(script|style|template|iframe|noframes|noembed|video|audio|canvas|datalist)$/;
const HAS_NO_OVERFLOW = /^(inline|contents|table-row|table-row-group|table-header-group|table-footer-group|table-column|none)$/;
const memoized = compute => {
  const known = new Map();
  return key => {
    if (!known.has(key)) known.set(key, compute(key));
    return known.get(key);
  };
};
const root = document.documentElement, body = document.body, range = document.createRange();
const styleOf = memoized(element => getComputedStyle(element));
const rectsOf = memoized(element => [...element.getClientRects()]);
const areaOf = rect => rect.width * rect.height;
const sum = numbers => numbers.reduce((total, number) => total + number, 0);

// ---- Colours: [red, green, blue, alpha], the first three from 0 to 255
const pixel = document.createElement('canvas').getContext('2d', { willReadFrequently: true });

// The browser itself draws what it calls a colour, since there are many ways to write one.
const parseColour = memoized(css => {
  const plain = /^rgba?\((\d+), (\d+), (\d+)(?:, ([\d.]+))?\)$/.exec(css);
  if (plain) return [...plain.slice(1, 4).map(Number), Number(plain[4] ?? 1)];
  pixel.clearRect(0, 0, 1, 1);
  Object.assign(pixel, { fillStyle: css }).fillRect(0, 0, 1, 1);
  const [red, green, blue, alpha] = pixel.getImageData(0, 0, 1, 1).data;
  return [red, green, blue, alpha / 255];
});
const blend = (below, above) => [0, 1, 2].map(i => above[i] * above[3] + below[i] * (1 - above[3])).concat(1);

// Relative luminance and contrast as WCAG 2 defines them.
const luminance = colour => {
  const linear = colour.slice(0, 3).map(v => (v / 255 <= 0.03928 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
};
const contrast = (one, other) => {
  const [dark, bright] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (bright + 0.05) / (dark + 0.05);
};

// ---- What the ancestors do to an element
const isPainted = style => parseColour(style.backgroundColor)[3] > 0 || style.backgroundImage !== 'none';
const isDarkPage = /dark/.test(styleOf(root).colorScheme) && !/light/.test(styleOf(root).colorScheme);
const paper = isDarkPage ? [18, 18, 18, 1] : [255, 255, 255, 1];
// The browser paints the page with the background of the root or, if that has none, of the body.
const paintsPage = element => element === root || (element === body && !isPainted(styleOf(root)));
const opacityOf = style => {
  const filter = /opacity\(([\d.]+)(%?)\)/.exec(style.filter);
  return Number(style.opacity) * (filter ? Number(filter[1]) / (filter[2] ? 100 : 1) : 1);
};

// Whether `clip` or `clip-path` leaves nothing of an element.
const isClippedAway = style => {
  const path = style.clipPath, inset = /^inset\(([\d.]+)%\)/.exec(path);
  if (inset && inset[1] >= 50 || /^(circle|ellipse)\(0/.test(path) || /^polygon\([^1-9]*\)$/.test(path)) return true;
  if (!/^(absolute|fixed)$/.test(style.position) || !style.clip.startsWith('rect')) return false;
  const [top, right, bottom, left] = style.clip.match(/-?[\d.]+|auto/g).map(Number);
  return bottom - top <= 1 || right - left <= 1;
};
const clipsOverflow = (element, style) =>
  element !== body && element !== root && element.localName !== 'marquee' && !HAS_NO_OVERFLOW.test(style.display) &&
  (style.overflowX !== 'visible' || style.overflowY !== 'visible');

// Of an element with its ancestors: opacity; whether it is clipped away; those with a background, the nearest first; those
// that cut off what overflows them, of the element itself and of absolute boxes in it, which only positioned ones cut off.
const surroundingsOf = memoized(element => {
  if (!element) return { opacity: 1, isGone: false, painted: [], clips: [], clipsOfAbsolute: [] };
  const outer = surroundingsOf(element.parentElement), style = styleOf(element);
  const inherited = { fixed: [], absolute: outer.clipsOfAbsolute }[style.position] ?? outer.clips;
  const clips = clipsOverflow(element, style) ? [...inherited, element] : inherited;
  const isPositioned = style.position !== 'static' || style.transform !== 'none';
  return {
    opacity: outer.opacity * opacityOf(style),
    isGone: outer.isGone || isClippedAway(style),
    painted: isPainted(style) ? [element, ...outer.painted] : outer.painted,
    clips,
    clipsOfAbsolute: isPositioned ? clips : outer.clipsOfAbsolute,
  };
});
const isAt = (element, x, y) => rectsOf(element).some(r => x >= r.left && x <= r.right && y >= r.top && y <= r.bottom);

// The colour behind a point of an element, as the ancestors there paint it; null on a picture.
const colourBehind = (element, x, y) => {
  const layers = [];
  for (const ancestor of surroundingsOf(element).painted.filter(e => paintsPage(e) || isAt(e, x, y))) {
    if (styleOf(ancestor).backgroundImage !== 'none') return null;
    layers.unshift(parseColour(styleOf(ancestor).backgroundColor));
    if (layers[0][3] === 1) break;
  }
  return layers.reduce(blend, paper);
};

// The box that cuts off what overflows an element: without its border and scroll bars.
const clipBoxOf = memoized(element => {
  const rect = element.getBoundingClientRect(), left = rect.left + element.clientLeft, top = rect.top + element.clientTop;
  const width = element.clientWidth || rect.width, height = element.clientHeight || rect.height;
  return { left, top, width, height, right: left + width, bottom: top + height };
});

// The area of a rectangle that is not cut off. A reader can scroll in a box that is large enough for it.
const areaInside = (rect, clips) => {
  let { left, top, right, bottom } = rect;
  for (const element of clips) {
    const box = clipBoxOf(element), style = styleOf(element), isLarge = box.width >= 20 && box.height >= 10;
    const cutsOff = overflow => overflow !== 'visible' && !(isLarge && /^(auto|scroll)$/.test(overflow));
    if (cutsOff(style.overflowX)) [left, right] = [Math.max(left, box.left), Math.min(right, box.right)];
    if (cutsOff(style.overflowY)) [top, bottom] = [Math.max(top, box.top), Math.min(bottom, box.bottom)];
  }
  return Math.max(0, right - left) * Math.max(0, bottom - top);
};

const pageWidth = Math.max(root.scrollWidth, innerWidth);
// Nobody scrolls to the left of a page, above it, or thousands of pixels to the right.
const isOffPage = rect => rect.right + scrollX <= 0 || rect.bottom + scrollY <= 0 || rect.left + scrollX >= pageWidth + 3000;

// ---- Whether a piece of text can be read: `rects` are its lines, `letters` how many take up room

const letterHeight = (style, rects) => {
  const fontSize = parseFloat(style.fontSize);
  if (!style.writingMode.startsWith('horizontal')) return fontSize;
  // a transformation enlarges letters beyond their font size, and that of an ancestor makes them smaller
  return Math.min(Math.max(...rects.map(r => r.height)) / LINE_HEIGHT, style.transform === 'none' ? fontSize : Infinity);
};
const isShown = (element, style) =>
  element.checkVisibility() && style.visibility === 'visible' && style.contentVisibility !== 'hidden' &&
  !element.closest('details:not([open]) > :not(summary)') && !element.matches('details:not([open])');
const isLegible = (style, rects, letters) => {
  const height = letterHeight(style, rects), tallest = Math.max(...rects.map(r => r.height));
  const isSqueezed = sum(rects.map(r => r.width)) < NARROWEST * height * Math.max(1, letters) && tallest < 3 * height;
  return height >= LEAST.height && !isSqueezed && (style.webkitTextSecurity || 'none') === 'none';
};
const isCutOff = (element, rects) => {
  const { clips } = surroundingsOf(element);
  return sum(rects.map(r => areaInside(r, clips))) < LEAST.area * sum(rects.map(areaOf));
};

// A shadow can be read even where the letters cannot.
const standsOut = (element, style, x, y) => {
  if (style.textShadow !== 'none') return true;
  const ink = parseColour(style.webkitTextFillColor), behind = colourBehind(element, x, y);
  if (ink[3] < LEAST.opacity) return false;
  const seen = behind && blend(behind, [...ink.slice(0, 3), ink[3] * surroundingsOf(element).opacity]);
  return !behind || contrast(seen, behind) >= LEAST.contrast;
};
const isCovered = (element, x, y) => {
  const top = document.elementFromPoint(x, y); // null outside of the window
  return top && !top.contains(element) && !element.contains(top) &&
    parseColour(styleOf(top).backgroundColor)[3] > 0.9 && surroundingsOf(top).opacity > 0.9;
};
const isReadable = (element, rects, letters) => {
  const style = styleOf(element), { opacity, isGone } = surroundingsOf(element);
  if (!rects.length || isGone || opacity < LEAST.opacity || !isShown(element, style)) return false;
  if (!isLegible(style, rects, letters) || rects.every(isOffPage) || isCutOff(element, rects)) return false;
  const x = rects[0].left + rects[0].width / 2, y = rects[0].top + rects[0].height / 2;
  return standsOut(element, style, x, y) && !isCovered(element, x, y);
};

// ---- Reading
let text = '', end = null, isApart = false;
const alternatives = [];

const touches = (rect, height) => {
  const overlap = Math.min(end.bottom, rect.bottom) - Math.max(end.top, rect.top);
  const gap = Math.min(Math.abs(rect.left - end.right), Math.abs(end.left - rect.right));
  return overlap > 0.4 * Math.min(end.height, rect.height) && gap <= WORD_GAP * height;
};

// How many letters take up room.
const countLetters = piece => piece.replace(/[\p{M}\p{Cf}\p{Default_Ignorable_Code_Point}]/gu, '').replace(/\s+/g, ' ').trim().length;

// Appends a piece of text if it can be read.
const read = (element, piece, rects, letters) => {
  const lines = rects.filter(r => r.width > 0 || r.height > 0);
  if (!isReadable(element, lines, letters)) return;
  const first = lines.find(r => r.width > 0) ?? lines[0];
  isApart ||= /^\s/.test(piece) || (end && !touches(first, letterHeight(styleOf(element), lines)));
  if (isApart) text += end && Math.abs(first.top - end.top) < 3 ? ' ' : '\n';
  text += piece.trim().replace(/[ \t\n\r\f]+/g, ' ');
  end = lines.findLast(r => r.width > 0) ?? first;
  isApart = /\s$/.test(piece);
};

const rectsOfText = (node, start, stop) => {
  range.setStart(node, start);
  range.setEnd(node, stop);
  return [...range.getClientRects()];
};
const readText = node => {
  const { data, parentElement } = node, rects = rectsOfText(node, 0, data.length), { clips } = surroundingsOf(parentElement);
  if (!/\S/.test(data)) {
    isApart ||= rects.some(r => r.width > 0.5);
  } else if (rects.every(r => areaInside(r, clips) >= 0.99 * areaOf(r)) && !(rects.length > 1 && rects.some(isOffPage))) {
    read(parentElement, data, rects, countLetters(data));
  } else {
    for (const { index, 0: word } of data.matchAll(/\S+\s?/g)) {
      isApart ||= index > 0;
      read(parentElement, word, rectsOfText(node, index, index + word.trimEnd().length), countLetters(word));
    }
  }
};

// Text of an element that is in no text node: where in the element its letters are is not known.
const readApart = (element, words) => /\S/.test(words) && read(element, ` ${words} `, rectsOf(element), 1);
const readGenerated = (element, pseudo) => {
  const { content, display } = getComputedStyle(element, pseudo);
  if (/^".*[a-z]{3}.*"$/is.test(content) && display !== 'none') readApart(element, content.slice(1, -1));
};
const readField = field => {
  if (/^(submit|button|reset)$/.test(field.type)) readApart(field, field.value);
  if (/^(text|email|search|tel|url|number|textarea)$/.test(field.type)) readApart(field, field.value || field.placeholder);
  if (field.type === 'password') readApart(field, field.placeholder);
};
const readImage = image => {
  const rect = image.getBoundingClientRect(), { opacity, clips } = surroundingsOf(image);
  isApart ||= rect.width > 3;
  const isThere = rect.width > 1 && rect.height > 1 && !isOffPage(rect) && areaInside(rect, clips) > 0;
  if (isThere && opacity >= LEAST.opacity && styleOf(image).visibility === 'visible') alternatives.push(image.alt);
};

const hasGenerated = [...document.querySelectorAll('style')].some(style => /content\s*:/i.test(style.textContent));

// The parser of the browser nests elements at most 512 deep.
const readElement = element => {
  const name = element.localName;
  if (UNREAD.test(name)) return;
  if (name === 'input' || name === 'textarea') return readField(element);
  if (name === 'select' && element.size <= 1) return readApart(element, element.selectedOptions[0]?.text ?? '');
  if (name === 'img') return readImage(element);
  isApart ||= name === 'br' || name === 'hr';
  if (hasGenerated) readGenerated(element, '::before');
  for (const child of element.childNodes) {
    if (child.nodeType === Node.TEXT_NODE) readText(child);
    if (child.nodeType === Node.ELEMENT_NODE) readElement(child);
  }
  if (hasGenerated) readGenerated(element, '::after');
};

if (body) readElement(body);
({ text, alternatives: alternatives.join('\n') });
