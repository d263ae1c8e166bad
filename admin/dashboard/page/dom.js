// Elements without markup: everything that is shown is text or an attribute, never HTML.

const SVG = 'http://www.w3.org/2000/svg';

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (name === 'value' || name === 'checked') element[name] = value;
    else element.setAttribute(name, value === true ? '' : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** h('p', {class: 'x', onclick: f}, 'text', child) */
export const h = (name, attributes, ...children) => fill(document.createElement(name), attributes, children);
export const s = (name, attributes, ...children) => fill(document.createElementNS(SVG, name), attributes, children);

export function replace(element, ...children) {
  element.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
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
