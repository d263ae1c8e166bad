// What several views show or do alike.

import {ApiError, get, keyQuery, listPath, post, put, remove, policyPath} from './api.js';
import {button, field, focusHeading, h, replace, select, visible} from './dom.js';
import {clock, keyText, number, span} from './format.js';
import {has, t} from './words.js';

export const EFFECTS = ['deny', 'challenge', 'delay', 'graylist', 'flag', 'none'];

/** The effect's own word, as the configuration has it, and what it means in the reader's language. */
export const effect = (name, shadow) =>
  h('span', {class: `badge fx-${name}${shadow ? ' is-shadow' : ''}`, title: shadow ? t('in shadow: acts on nobody') : null},
    has(name) ? t(name) : name, shadow ? h('span', {class: 'unseen'}, ` (${t('shadow')})`) : null);

export const mode = (name) => h('span', {class: `badge mode-${name}`}, t(name));

// A network, or a range of addresses, is no key: who asks for one sees the entries that it concerns.
const NETWORK = /^(?=.*[.:])[\da-f.:]+(\/\d+| - [\da-f.:]+)$/i;
export const isNetwork = (parts) => parts.length === 1 && NETWORK.test(parts[0]);
/** The place of this page that shows all about a key. */
export const keyPlace = (parts) => (isNetwork(parts) ? `#/listed?search=${encodeURIComponent(parts[0])}` : `#/find?${keyQuery(parts)}`);
export const keyLink = (parts) => (parts.length ? h('a', {class: 'key', href: keyPlace(parts)}, keyText(parts)) : h('span', {class: 'key'}, keyText(parts)));
export const policyLink = (name) => h('a', {href: `#/policies/${encodeURIComponent(name)}`}, name);

/** `3 deny, 2 flag`: what is not zero. */
export function tally(cells, shadow) {
  const told = EFFECTS.filter((each) => each !== 'none' && cells[each]);
  return told.map((each) => h('span', {class: `count fx-${each}${shadow ? ' is-shadow' : ''}`}, `${number(cells[each])} ${t(each)}`));
}

export const heading = (title, ...more) => h('div', {class: 'heading'}, h('h1', {tabindex: -1}, title), h('div', {class: 'tools'}, more));

export const panel = (title, ...children) => h('section', {class: 'panel'}, title ? h('h2', {}, title) : null, children);

// ---------------------------------------------------------------- what has happened, said below

const shelf = () => document.getElementById('toasts');
/** Takes away what was said. Whoever was at its buttons goes on at the heading of the view. */
function unsay(toasts) {
  const held = toasts.some((each) => each.contains(document.activeElement));
  for (const each of toasts) each.remove();
  if (held) focusHeading(null);
}

/** Says what was done, or what went wrong (`bad`; `away`: until weir answers again); `undo` is a token of the undo log. */
export function say(text, {undo, lines, bad, away} = {}) {
  unsay([...shelf().children].filter((each) => bad && each.firstChild.textContent === visible(text)));  // said again
  const toast = h('div', {class: `toast${bad ? ' bad' : ''}${away ? ' is-away' : ''}`}, h('p', {}, text), (lines || []).filter(Boolean).map((line) => h('p', {class: 'fine'}, line)));
  const close = () => { if (toast.isConnected) unsay([toast]); };
  const row = h('div', {class: 'row'});
  if (undo) {
    row.append(button(t('Undo'), async () => {
      close();
      await takeBack(undo);
    }, {class: 'primary'}));
  }
  row.append(button(t('Close'), close));
  toast.append(row);
  shelf().append(toast);
  unsay([...shelf().children].slice(0, -4));
  if (!bad && !undo) setTimeout(close, 8000);
}

/** What went wrong is no news any more: the reader has gone on, or (`away` alone) weir answers again. */
export function forget(away) {
  if (shelf()) unsay([...shelf().children].filter((each) => each.classList.contains(away ? 'is-away' : 'bad')));
}

/** Puts what a view shows into its address: the way back, a reload and a copied link show it again. */
export function note(view, values) {
  const query = new URLSearchParams(Object.entries(values).filter(([, value]) => value)).toString();
  history.replaceState(null, '', `#/${view}${query ? `?${query}` : ''}`);
}

/** Copies a text, and says so; where the browser does not let a page copy, it selects what is shown. */
export async function copy(text, shown) {
  try {
    await navigator.clipboard.writeText(text);
    say(t('Copied.'));
  } catch {
    window.getSelection().selectAllChildren(shown);
    say(t('Selected: copy it by the keyboard.'));
  }
}

/** Runs it and says what went wrong, if something did; then the answer is undefined. */
export async function attempt(wanted) {
  try {
    const answer = await wanted();
    forget(true);
    return answer;
  } catch (problem) {
    if (!(problem instanceof ApiError)) throw problem;
    if (problem.status !== 401) say(problem.message, {bad: true, away: problem.status === 0});
    return undefined;
  }
}

/** Whether there are other replicas to which a change of a policy goes as well (`admin.replicas`). */
export const fleet = {configured: false};
const everywhere = () => (fleet.configured ? '?replicas=all' : '');
/** What became of it at the others, in words. */
const elsewhere = (answer) => (answer.replicas || []).map((each) => (each.ok ? t('Also on {address}.', {address: each.address}) : t('Not on {address}: {why}', {address: each.address, why: each.detail})));

const changed = () => window.dispatchEvent(new Event('weir-changed'));

// ---------------------------------------------------------------- changes that views offer

/** Takes back a change of lists by its token of the undo log. */
export const takeBack = (undo) => attempt(async () => {
  const back = await post(`/v1/changes/${encodeURIComponent(undo)}/undo`);
  const left = back.left ? t('Unchanged, because they have ended or were changed since: {n}.', {n: back.left}) : '';
  say(t('Undone: {n} restored, {m} removed.', {n: back.restored, m: back.removed}), {lines: [back.what, left, back.note]});
  changed();
});

export async function release(list, key, forgives) {
  await attempt(async () => {
    const answer = await remove(`${listPath(list)}/entries?${keyQuery(key)}${forgives ? '&forgive=true' : ''}`);
    const lines = [answer.note, ...answer.remains.map((each) => `${each.policy}: ${each.text}`)];
    if (answer.emptied.length) lines.push(t('Emptied: {names}', {names: answer.emptied.join(', ')}));
    if (answer.counted_by_another_key.length) lines.push(t('Counted by another key, and kept: {names}', {names: answer.counted_by_another_key.join(', ')}));
    if (answer.disabled.length) lines.push(t('Disabled, and their counts come back with them: {names}', {names: answer.disabled.join(', ')}));
    const done = answer.removed === 0 ? t('{key} was not listed there.', {key: keyText(key)})
      : answer.emptied.length ? t('{key} is forgiven: off the list, and its count is empty.', {key: keyText(key)})
        : t('{key} is released.', {key: keyText(key)});
    say(done, {undo: answer.undo, lines});
    changed();
  });
}

export async function emptyCount(policy, key) {
  await attempt(async () => {
    await remove(`/v1/counters/${encodeURIComponent(policy)}?${keyQuery(key)}`);
    say(t('The count of {key} in {policy} is empty.', {key: keyText(key), policy}));
    changed();
  });
}

export const TIMES = () => [['10m', t('10 minutes')], ['1h', t('1 hour')], ['4h', t('4 hours')], ['24h', t('1 day')], ['168h', t('7 days')]];

/** Asks in a dialog; `build(done)` gives its content; resolves with what `done` was given, or null. */
export function ask(title, build) {
  return new Promise((resolve) => {
    const before = document.activeElement;
    const box = h('dialog', {'aria-labelledby': 'dialog-title'});
    const done = (value) => {
      box.close();
      box.remove();
      if (before instanceof HTMLElement && before.isConnected) before.focus();
      resolve(value);
    };
    box.append(h('h2', {id: 'dialog-title'}, title), build(done));
    box.addEventListener('cancel', (event) => { event.preventDefault(); done(null); });
    document.body.append(box);
    box.showModal();
  });
}

const form = (done, read, fields, word) =>
  h('form', {onsubmit: (event) => { event.preventDefault(); done(read()); }}, fields,
    h('div', {class: 'row end'}, button(t('Cancel'), () => done(null)), h('button', {type: 'submit', class: 'primary'}, word)));

/** Lists a key, or keeps it listed for longer. `entry`: {list, key, effect}; without it all is asked. */
export async function extend(entry, lists) {
  const time = select(TIMES(), '1h');
  const why = h('input', {type: 'text', maxlength: 200});
  const list = entry ? null : select(lists.filter((each) => each.of.length > 0).map((each) => [each.name, each.name]), undefined);
  // A field for each part of the key that the list has.
  const parts = [], key = entry ? null : h('div', {class: 'stack'});
  const drawKey = () => {
    const {of} = lists.find((each) => each.name === list.value);
    while (parts.length < of.length) parts.push(h('input', {type: 'text', required: of.length === 1, spellcheck: 'false', autocomplete: 'off'}));
    replace(key, of.map((name, i) => field(t('Key: {name}', {name}), parts[i])));
  };
  const keyOf = (name) => parts.slice(0, lists.find((each) => each.name === name).of.length).map((part) => part.value.trim());
  if (list && !list.options.length) return say(t('There is no list to put a key on.'), {bad: true});
  const title = entry ? t('Keep {key} listed for longer', {key: keyText(entry.key)}) : t('Put a key on a list');
  if (list) {
    list.addEventListener('change', drawKey);
    drawKey();
  }
  // What weir does not take is said in the dialog, which keeps what was written.
  for (let wrong = ''; ;) {
    const given = await ask(title, (done) => form(done, () => ({for: time.value, why: why.value.trim()}), [
      wrong ? h('p', {class: 'note', role: 'alert'}, wrong) : null,
      list ? field(t('List'), list) : null,
      key,
      field(t('From now on for'), time), field(t('Reason'), why)], entry ? t('Extend') : t('Put on the list')));
    if (given === null) return undefined;
    const target = entry || {list: list.value, key: keyOf(list.value)};
    try {
      const answer = await post(`${listPath(target.list)}/entries`, {key: target.key, ...given});
      const words = {key: keyText(target.key), list: answer.list, until: clock(answer.until)};
      const kept = answer.result === 'kept';
      say(kept ? t('{key} is on {list} for longer already: until {until}.', words) : t('{key} is on {list} until {until}.', words), {undo: answer.undo, lines: [answer.note]});
      return changed();
    } catch (problem) {
      if (!(problem instanceof ApiError)) throw problem;
      if (problem.status === 401) return undefined;
      wrong = problem.message;
    }
  }
}

export async function override(policy, change) {
  return attempt(async () => {
    const answer = await put(`${policyPath(policy)}/override${everywhere()}`, change);
    const last = answer.overrides[answer.overrides.length - 1];
    say(t('{policy}: {text} until {until}.', {policy, text: last ? last.text : '', until: last ? clock(last.until) : ''}), {lines: [answer.note, ...elsewhere(answer)]});
    changed();
    return answer;
  });
}

export async function restore(policy) {
  return attempt(async () => {
    const answer = await remove(`${policyPath(policy)}/override${everywhere()}`);
    const last = answer.overrides[answer.overrides.length - 1];  // of all replicas, where one of this replica alone has ended
    say(last ? t('{policy}: {text} until {until}.', {policy, text: last.text, until: clock(last.until)}) : t('{policy} is as the files say it.', {policy}), {lines: [answer.note, ...elsewhere(answer)]});
    changed();
    return answer;
  });
}

export const overrideRow = (each) => h('li', {class: 'override'},
  h('div', {}, policyLink(each.policy), ' ', h('strong', {}, each.text), ' ',
    h('span', {class: 'fine'}, t('for {left} more', {left: span(each.left_seconds)}), each.reason ? ` · ${each.reason}` : '')),
  button(t('Restore now'), () => restore(each.policy), {'aria-label': t('Restore {policy} now', {policy: each.policy})}));

/** Calls `load` now and whenever something was changed here, until the view goes. */
export function reloadOn(view, load) {
  const wanted = () => { if (view.isConnected) load(); else window.removeEventListener('weir-changed', wanted); };
  window.addEventListener('weir-changed', wanted);
  load();
}

const FOLLOW = 5000;  // ms between two loads of what others change

/** Calls `load` when entries of lists have come or gone, whoever did it, until the view goes: not under somebody's focus or dialog. */
export function followLists(view, load) {
  let waits = false, last = Date.now();
  const look = () => {
    if (!view.isConnected) return;
    if (document.hidden || view.contains(document.activeElement) || document.querySelector('dialog[open]')) { setTimeout(look, 1000); return; }
    waits = false;
    last = Date.now();
    load();
  };
  const wanted = () => {
    if (!view.isConnected) { window.removeEventListener('weir-listed', wanted); return; }
    if (waits) return;
    waits = true;
    setTimeout(look, Math.max(0, last + FOLLOW - Date.now()));
  };
  window.addEventListener('weir-listed', wanted);
}

export {get};
