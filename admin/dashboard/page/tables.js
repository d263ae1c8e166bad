// Tables: thresholds that people keep. What is in force, changes with their reason, a second person, the way back.

import {ApiError, post, put} from './api.js';
import {ask, attempt, get, heading, panel, policyLink, reloadOn, say} from './common.js';
import {button, field, h, later, replace, table, visible} from './dom.js';
import {number, when} from './format.js';
import {counted, t} from './words.js';

const ROWS = 200;
const tablePath = (name) => `/v1/tables/${encodeURIComponent(name)}`;
const tableLink = (name) => h('a', {href: `#/tables/${encodeURIComponent(name)}`}, name);
const limitText = (limit) => (limit === null || limit === undefined ? '–' : limit === 'unlimited' ? t('unlimited') : number(limit));
export const changesText = (changes) => changes.map((each) => `${each.key}: ${limitText(each.before)} → ${limitText(each.after)}`).join(' · ');
const changed = () => window.dispatchEvent(new Event('weir-changed'));

// The history says who acts. A session that was opened for somebody is theirs; else weir knows no people.
let bound = false;
let person = '';
try { person = localStorage.getItem('weir-person') || ''; } catch { /* then it is asked for */ }
function remember(name) {
  if (bound) return;
  person = name;
  try { localStorage.setItem('weir-person', name); } catch { /* then it is forgotten */ }
}
export function actAs(name) {
  bound = Boolean(name);
  if (bound) person = name;
}
const nameField = (required) => h('input', {type: 'text', value: person, readonly: bound, title: bound ? t('The session is of {name}.', {name: person}) : null, maxlength: 60, required, autocomplete: 'name', spellcheck: 'false'});

export function show(main, path) {
  if (path.length > 1) one(main, path[1]);
  else all(main);
}

function all(main) {
  const found = h('div', {});
  main.append(heading(t('Tables')), h('p', {class: 'fine'}, t('Limits that you can change here. A change holds at once, on all replicas, and stays.')), found);
  reloadOn(found, async () => {
    const answer = await attempt(() => get('/v1/tables'));
    if (!answer) return;
    replace(found, table(t('Tables'), [{title: t('Table')}, {title: t('By')}, {title: t('Limits'), class: 'number'}, {title: t('Used by')}, {title: t('Changed here'), class: 'number'}, {title: t('Waits for approval')}],
      answer.tables.map((each) => [tableLink(each.name), each.by.join(', '), number(each.limits), h('span', {class: 'counts'}, each.policies.map(policyLink)), number(each.set_here.length),
        each.pending.length ? h('span', {class: 'badge bad'}, number(each.pending.length)) : '']), t('The configuration has no tables.')));
  });
}

// ---------------------------------------------------------------- one table

/** `{baidu: {android: 3000}, '*': 1500}` as rows: [['baidu,android', 3000], ['*', 1500]] */
function cellsOf(values, before = []) {
  return Object.entries(values).flatMap(([name, value]) => (value !== null && typeof value === 'object' ? cellsOf(value, [...before, name]) : [[[...before, name].join(','), value]]));
}

const LIMIT = /^-?\d+(\.\d+)?$/;
/** What is written in a cell: a number, 'unlimited', null: none; undefined: it makes no sense. */
function limitOf(text) {
  const word = text.trim().toLowerCase();
  if (word === '') return null;
  if (word === 'unlimited' || word === t('unlimited')) return 'unlimited';
  return LIMIT.test(word) ? Number(word) : undefined;
}

function decide(name, record, rejects) {
  return ask(rejects ? t('Reject the change') : t('Approve the change'), (done) => {
    const who = nameField(true);
    return h('form', {onsubmit: (event) => { event.preventDefault(); remember(who.value.trim()); done(who.value.trim()); }},
      h('p', {}, changesText(record.changes)), h('p', {class: 'fine'}, t('{name} asks for it: {reason}', {name: record.by, reason: record.reason || '–'})),
      field(t('Your name'), who), h('div', {class: 'row end'}, button(t('Cancel'), () => done(null)), h('button', {type: 'submit', class: 'primary'}, rejects ? t('Reject') : t('Approve'))));
  }).then((by) => by && attempt(async () => {
    const answer = await post(`${tablePath(name)}/approve`, {change: record.id, by, ...(rejects ? {reject: true} : {})});
    say(rejects ? t('The change is rejected.') : t('The change is in force.'), {lines: [answer.note]});
    changed();
  }));
}

function takeBack(name, record) {
  return ask(t('Take back change {id}', {id: record.id}), (done) => {
    const who = nameField(false), reason = h('input', {type: 'text', maxlength: 200, required: true});
    return h('form', {onsubmit: (event) => { event.preventDefault(); remember(who.value.trim()); done({by: who.value.trim(), reason: reason.value.trim()}); }},
      h('p', {}, changesText(record.changes)), field(t('Reason'), reason), field(t('Your name'), who),
      h('div', {class: 'row end'}, button(t('Cancel'), () => done(null)), h('button', {type: 'submit', class: 'primary'}, t('Take back'))));
  }).then((given) => given && attempt(async () => {
    const answer = await post(`${tablePath(name)}/undo`, {change: record.id, reason: given.reason, ...(given.by ? {by: given.by} : {})});
    say(t('Change {id} is taken back.', {id: record.id}), {lines: [answer.note]});
    changed();
  }));
}

const STATES = {applied: ['good', 'in force'], pending: ['override', 'waits'], rejected: ['bad', 'rejected'], undone: ['', 'taken back'], undo: ['good', 'takes back']};
const stateOf = (record) => { const [look, word] = STATES[record.state] || ['', record.state]; return h('span', {class: `badge ${look}`}, t(word)); };
const historyRow = (name, record) => [when(record.at), {of: changesText(record.changes), class: 'long'},
  stateOf(record), [record.by, record.decided_by && record.decided_by !== record.by ? ` · ${record.decided_by}` : '', record.overtaken ? ` · ${t('too late: {what}', {what: record.overtaken})}` : ''], {of: record.reason || '', class: 'long'},
  record.state === 'applied' ? button(t('Take back'), () => takeBack(name, record), {'aria-label': t('Take back change {id}', {id: record.id})}) : ''];

const pendingRow = (name, record) => [when(record.at), {of: changesText(record.changes), class: 'long'}, record.by, {of: record.reason || '', class: 'long'},
  h('div', {class: 'row'}, button(t('Approve'), () => decide(name, record, false), {class: 'primary', 'aria-label': t('Approve change {id}', {id: record.id})}),
    button(t('Reject'), () => decide(name, record, true), {'aria-label': t('Reject change {id}', {id: record.id})}))];

/** The cells as fields. What is written there and not sent yet outlives a look at what is in force. */
function editor(name, drafts) {
  const search = h('input', {type: 'search', placeholder: t('part of a key'), spellcheck: 'false', autocomplete: 'off'});
  const rows = h('div', {}), note = h('p', {class: 'fine', role: 'status'});
  const key = h('input', {type: 'text', spellcheck: 'false', autocomplete: 'off'}), limit = h('input', {type: 'text', size: 10, inputmode: 'decimal', autocomplete: 'off'});
  const reason = h('input', {type: 'text', maxlength: 200, required: true, placeholder: t('a ticket, a name')});
  let who = nameField(false), facts = null, cells = new Map();
  const send = h('button', {type: 'submit', class: 'primary'}, '');

  function tell() {
    const waiting = drafts.size;
    note.textContent = waiting ? t(counted(waiting, '{n} limit changes: {what}', '{n} limits change: {what}'), {n: number(waiting), what: visible(changesText([...drafts].map(([each, after]) => ({key: each, before: cells.get(each), after}))))}) : t('Write another limit into a field. An empty one takes the limit out.');
    send.disabled = waiting === 0;
  }
  function edit(control, of) {
    const value = limitOf(control.value);
    control.setCustomValidity(value === undefined ? t('A limit is a number, or the word unlimited.') : '');
    if (value === undefined) { control.reportValidity(); return; }
    const now = cells.has(of) ? cells.get(of) : null;
    if (value === now) drafts.delete(of);
    else drafts.set(of, value);
    control.closest('tr')?.classList.toggle('is-changed', drafts.has(of));
    tell();
  }
  function cellField(of, value) {
    const shown = drafts.has(of) ? drafts.get(of) : value;
    const control = h('input', {type: 'text', size: 10, inputmode: 'decimal', autocomplete: 'off', value: shown === null || shown === undefined ? '' : shown === 'unlimited' ? t('unlimited') : String(shown), 'aria-label': t('Limit of {key}', {key: of}), onchange: (event) => edit(event.target, of)});
    return control;
  }
  function draw() {
    const wanted = search.value.trim().toLowerCase();
    const found = [...new Set([...cells.keys(), ...drafts.keys()])].filter((each) => each.toLowerCase().includes(wanted));
    const here = new Set(facts.set_here.map((each) => each.key));
    replace(rows, table(t('Limits of {name}', {name}), [{title: facts.by.join(', ')}, {title: t('Limit')}, {title: t('From')}],
      found.slice(0, ROWS).map((each) => [h('code', {}, each), cellField(each, cells.get(each)), h('span', {class: 'fine'}, !cells.has(each) ? t('new') : here.has(each) ? t('set by people') : t('the file'))]),
      wanted ? t('No key contains this.') : t('There are no limits.')),
    found.length > ROWS ? h('p', {class: 'fine'}, t('{n} more: search for them.', {n: number(found.length - ROWS)})) : null);
    tell();
  }
  function add() {
    const value = limitOf(limit.value), of = key.value.trim();
    limit.setCustomValidity(value === undefined || value === null ? t('A limit is a number, or the word unlimited.') : '');
    if (!of || !limit.reportValidity()) { if (!of) key.focus(); return; }
    drafts.set(of, value);
    key.value = limit.value = '';
    draw();
    key.focus();
  }
  async function save() {
    const by = who.value.trim();
    remember(by);
    await attempt(async () => {
      const answer = await put(tablePath(name), {set: Object.fromEntries(drafts), reason: reason.value.trim(), ...(by ? {by} : {})});
      drafts.clear();
      reason.value = '';
      say(facts.approval ? t('The change waits for somebody else.') : t('The change is in force.'), {lines: [answer.note]});
      changed();
    });
  }
  search.addEventListener('input', later(150, () => draw()));
  const form = h('form', {class: 'stack', onsubmit: (event) => { event.preventDefault(); save(); }},
    h('div', {class: 'filters', role: 'search', 'aria-label': t('Filter')}, field(t('Search'), search, 'wide')), rows,
    h('div', {class: 'filters', role: 'group', 'aria-label': t('Another limit')}, field(t('Key, with commas between its parts'), key, 'wide'), field(t('Limit'), limit), h('div', {class: 'field'}, button(t('Add'), add))),
    note, h('div', {class: 'filters'}, field(t('Reason'), reason, 'wide'), field(t('Your name'), who), h('div', {class: 'field'}, send)));
  return {form, take: (next) => {
    facts = next;
    cells = new Map(cellsOf(next.values));
    for (const [of, value] of drafts) if (cells.get(of) === value) drafts.delete(of);
    who.required = next.approval;
    send.textContent = next.approval ? t('Ask for approval') : t('Put in force');
    if (!rows.contains(document.activeElement)) draw();
    else tell();
  }};
}

function one(main, name) {
  const used = h('p', {class: 'fine'}), pending = h('div', {class: 'unless-empty'}), past = h('div', {});
  const edits = editor(name, new Map());
  main.append(heading(name, h('a', {href: '#/tables', class: 'button'}, t('All tables'))), used, pending, panel(t('Limits'), edits.form), panel(t('History'), past));
  const load = async () => {
    const facts = await attempt(() => get(tablePath(name)).catch((problem) => { if (problem instanceof ApiError && problem.status === 404) return null; throw problem; }));
    if (facts === null) replace(main, heading(name, h('a', {href: '#/tables', class: 'button'}, t('All tables'))), h('p', {class: 'empty'}, t('There is no such table.')));
    if (!facts) return;
    replace(used, facts.policies.length ? [t('Used by'), ' ', facts.policies.flatMap((each, i) => [i ? ', ' : '', policyLink(each)])] : t('No policy uses it.'), facts.approval ? ` · ${t('A change needs a second person.')}` : '');
    edits.take(facts);
    replace(pending, facts.pending.length ? panel(t('Waits for approval'), table(t('Waits for approval'), [{title: t('Time')}, {title: t('Change')}, {title: t('Who')}, {title: t('Reason')}, {unseen: t('Actions'), class: 'actions'}],
      facts.pending.map((each) => pendingRow(name, each)))) : '');
    replace(past, table(t('History'), [{title: t('Time')}, {title: t('Change')}, {title: t('State')}, {title: t('Who')}, {title: t('Reason')}, {unseen: t('Actions'), class: 'actions'}],
      facts.history.map((each) => historyRow(name, each)), t('No changes yet.')));
  };
  reloadOn(past, load);
  // What others do, here and on other replicas; but nothing is drawn again under the reader's hands.
  const tick = () => {
    if (!past.isConnected) return;
    const busy = document.hidden || document.querySelector('dialog') || [past, pending].some((each) => each.contains(document.activeElement));
    if (!busy) load();
    setTimeout(tick, 5000);
  };
  setTimeout(tick, 5000);
}
