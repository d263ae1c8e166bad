// Elements without markup: everything that is shown is text or an attribute, never HTML.

const SVG = 'http://www.w3.org/2000/svg';

// Controls, what turns the direction of text, what has no look of its own (core/visible.cc): what clients send must
// not make the page show something else than it is. Line feeds and tabs stay.
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb]|\ud804[\udcbd-\udccd]|\ud82f[\udca0-\udca3]|\ud834[\udd73-\udd7a]|[\udb40-\udb43][\udc00-\udfff]/g;
const escaped = (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
/** A text as it is shown: hidden characters as JSON escapes them. */
export const visible = (text) => text.replace(HIDDEN, (found) => [...found].flatMap((each) => each.split('')).map(escaped).join(''));

// Attributes that readers see or hear.
const SHOWN = new Set(['title', 'aria-label', 'data-label', 'placeholder']);
const contents = (children) => children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false)
  .map((child) => (typeof child === 'string' ? visible(child) : child));

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (name === 'value' || name === 'checked') element[name] = value;
    else element.setAttribute(name, value === true ? '' : SHOWN.has(name) ? visible(String(value)) : value);
  }
  element.append(...contents(children));
  return element;
}

/** h('p', {class: 'x', onclick: f}, 'text', child) */
export const h = (name, attributes, ...children) => fill(document.createElement(name), attributes, children);
export const s = (name, attributes, ...children) => fill(document.createElementNS(SVG, name), attributes, children);

const CONTROLS = 'a[href], button, input, select, textarea, [tabindex]';
const controls = (within) => [...within.querySelectorAll(CONTROLS)];
const sameAs = (control) => `${control.tagName} ${control.getAttribute('aria-label') || control.textContent}`;
const ROWS = 'tr, li, article';
const rowsOf = (within) => [...within.querySelectorAll(ROWS)];

/** Puts the focus on the heading of the part with `near` in it, or of the view. */
export function focusHeading(near) {
  const heading = near?.closest('section')?.querySelector('h2') || document.querySelector('main h1');
  if (!heading) return;
  heading.tabIndex = -1;
  heading.focus();
}

/** Says where the focus goes when the contents of `element` are drawn again; call the answer when that is done. It goes to the
 * same control, if there is one again; else to the like one of the row that has taken the place, or of the last row that has
 * one; else to the heading. Without that the browser forgets where the reader was. */
function keepFocus(element) {
  const held = document.activeElement;
  if (!held || held === element || !element.contains(held)) return () => {};
  const name = sameAs(held), nth = controls(element).filter((each) => sameAs(each) === name).indexOf(held);
  const row = held.closest(ROWS), place = row && element.contains(row) ? rowsOf(element).indexOf(row) : -1;
  const column = place < 0 ? -1 : controls(row).filter((each) => each.tagName === held.tagName).indexOf(held);
  return () => {
    if (held.isConnected) { held.focus({preventScroll: true}); return; }
    const same = controls(element).filter((each) => sameAs(each) === name);
    const like = place < 0 ? [] : rowsOf(element).map((each) => controls(each).filter((control) => control.tagName === held.tagName)[column]);
    const next = same[Math.min(nth, same.length - 1)] || like.slice(place).find(Boolean) || like.reverse().find(Boolean);
    if (next) next.focus({preventScroll: true});
    else focusHeading(element);
  };
}

export function replace(element, ...children) {
  const focus = keepFocus(element);
  element.replaceChildren(...contents(children));
  focus();
}

/** A table with a header; each cell of `rows` is text, an element, or {of, class, title}. */
export function table(caption, columns, rows, empty) {
  if (rows.length === 0) return h('p', {class: 'empty'}, empty);
  const cell = (value, i) => {
    const plain = value === null || value === undefined || typeof value !== 'object' || value instanceof Node || Array.isArray(value);
    const content = plain ? value : value.of;
    return h('td', {role: 'cell', class: [columns[i].class, plain ? '' : value.class].filter(Boolean).join(' ') || null, 'data-label': columns[i].title || null, title: plain ? null : value.title}, content);
  };
  return h('div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': caption},
    h('table', {role: 'table'},
      h('caption', {class: 'quiet-caption'}, caption),
      h('thead', {role: 'rowgroup'}, h('tr', {role: 'row'}, columns.map((c) => h('th', {role: 'columnheader', scope: 'col', class: c.class}, c.title || h('span', {class: 'unseen'}, c.unseen || caption))))),
      h('tbody', {role: 'rowgroup'}, rows.map((row) => h('tr', {role: 'row'}, row.map(cell))))));
}

export const button = (text, onclick, more) => h('button', {type: 'button', onclick, ...more}, text);

let fields = 0;
/** A label with its control below it. */
export function field(label, control, more) {
  control.id = control.id || `field-${++fields}`;
  return h('div', {class: `field ${more || ''}`}, h('label', {for: control.id}, label), control);
}

export const select = (options, value, attributes) =>
  h('select', attributes, options.map(([key, text]) => h('option', {value: key, selected: key === value}, text)));

/** Runs `wanted` once, `delay` ms after the last call. */
export function later(delay, wanted) {
  let timer = 0;
  return (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => wanted(...given), delay);
  };
}
