// What is happening: the live feed, as numbers, charts, and whom the verdicts name.

import {timeline} from './charts.js';
import {EFFECTS, effect, get, attempt, heading, keyLink, overrideRow, panel, policyLink, reloadOn, tally} from './common.js';
import {button, h, replace, table} from './dom.js';
import {clock, number, short, when} from './format.js';
import {counted, t} from './words.js';

const SECONDS = 600;   // that the charts show
const MINUTE = 60;     // seconds that the tables add up
const ROWS = 200;      // verdicts kept here
const SHOWN = 40;

/** What the feed has told so far. Lives as long as the page, so that the view may come and go. */
export class Story {
  constructor() {
    this.seconds = [];
    this.deeds = [];
    this.rows = [];
    this.lists = {};
    this.missed = 0;
    this.config = '';
    this.state = 'none';  // then live, gone, live again
    this.watchers = new Set();
  }

  past(data) {
    const at = Object.fromEntries(data.columns.map((name, i) => [name, i]));
    this.seconds = data.seconds.map((row) => ({
      at: row[at.at], requests: row[at.requests], shadows: row[at.shadows],
      verdicts: Object.fromEntries(EFFECTS.map((each) => [each, row[at[each]] || 0])),
    }));
    this.lists = data.lists;
    this.tell();
  }

  second(data) {
    this.seconds.push({at: data.at, requests: data.requests, shadows: data.shadows, verdicts: data.verdicts});
    if (this.seconds.length > SECONDS) this.seconds.shift();
    this.deeds.push(data.policies);
    if (this.deeds.length > MINUTE) this.deeds.shift();
    const moved = Object.entries(data.lists).some(([name, size]) => this.lists[name] !== size);
    Object.assign(this.lists, data.lists);
    if (moved) window.dispatchEvent(new Event('weir-listed'));
    // Of a second with more verdicts than the page gets, these are a sample.
    for (const row of data.rows) this.rows.push(data.missed ? {...row, sampled: true} : row);
    this.rows.splice(0, Math.max(0, this.rows.length - ROWS));
    this.missed += data.missed;
    if (this.config && data.config !== this.config) window.dispatchEvent(new Event('weir-changed'));
    this.config = data.config;
    this.tell();
  }

  tell() { for (const watcher of this.watchers) watcher(); }
}

const add = (into, cells) => { for (const [name, n] of Object.entries(cells)) into[name] = (into[name] || 0) + n; };

function busiest(deeds) {
  const all = new Map();
  for (const second of deeds) {
    for (const deed of second) {
      const id = `${deed.kind} ${deed.name}`;
      if (!all.has(id)) all.set(id, {...deed, verdicts: {}, shadows: {}, listed: 0});
      const sum = all.get(id);
      add(sum.verdicts, deed.verdicts);
      add(sum.shadows, deed.shadows);
      sum.listed += deed.listed;
    }
  }
  const weight = (deed) => [...Object.values(deed.verdicts), ...Object.values(deed.shadows)].reduce((a, b) => a + b, 0) + deed.listed;
  return [...all.values()].sort((a, b) => weight(b) - weight(a)).slice(0, 12);
}

/** Whose a verdict is, by the parts of the key; none of an entry: everybody's. null: an event came without an address. */
const keyOf = (row) => row.key || (row.client ? [row.client] : null);
function loudest(rows) {
  const all = new Map();
  for (const row of rows) {
    const key = keyOf(row), id = JSON.stringify(key);
    if (!key) continue;
    if (!all.has(id)) all.set(id, {key, n: 0, effects: {}, by: new Set()});
    const sum = all.get(id);
    ++sum.n;
    add(sum.effects, {[row.effect]: 1});
    if (row.policy || row.list) sum.by.add(row.policy || row.list);
  }
  return [...all.values()].sort((a, b) => b.n - a.n).slice(0, 12);
}

// A policy's own list is named after it: `login:deny`.
const listLink = (name) => h('a', {href: `#/listed?list=${encodeURIComponent(name)}`}, name);
const owner = (deed) => (deed.kind === 'policy' ? policyLink(deed.name) : h('span', {}, t('list'), ' ', listLink(deed.name)));

const what = (row) => [row.method, row.path].filter(Boolean).join(' ') || row.event || '';

// A refusal may hold only because of requests whose answers are still out; a value may include the request's own answer
// before it is there; a request that cannot be judged says why.
const remark = (row) => [row.in_flight ? t('{n} of these in flight', {n: number(row.in_flight)}) : '', row.possible ? t('if this one counts') : '',
  [row.field, row.why].filter(Boolean).join(': ')].filter(Boolean).join(', ');

const verdictRow = (row) => [
  when(row.time), effect(row.effect, row.shadow),
  row.policy ? policyLink(row.policy) : row.list ? listLink(row.list) : '',
  keyOf(row) ? keyLink(keyOf(row)) : '',
  row.value === undefined ? '' : h('span', {class: 'fine'}, row.limit === undefined ? number(row.value) : t('{a} of {b}', {a: number(row.value), b: number(row.limit)})),
  {of: row.kind === 'listed' ? t('listed until {until}', {until: clock(row.until)}) : [what(row), remark(row)].filter(Boolean).join(' · '), class: 'long'},
];

export function show(main, _path, _query, {story}) {
  let paused = false;
  const tiles = h('div', {class: 'tiles'});
  const charts = h('div', {class: 'pair'});
  const tables = h('div', {class: 'pair'});
  const tail = h('div', {});
  const overrides = h('div', {class: 'unless-empty'});
  const pause = button(t('Pause'), () => {
    paused = !paused;
    pause.textContent = paused ? t('Resume') : t('Pause');
    draw();
  }, {'aria-pressed': 'false'});
  main.append(heading(t('Now'), pause), overrides, tiles, charts, tables, panel(t('Live verdicts'), tail));

  const last = (seconds) => story.seconds.slice(-seconds);
  const sum = (rows, of) => rows.reduce((a, row) => a + of(row), 0);
  const each = (name) => (row) => row.verdicts[name] || 0;
  const tile = (title, value, note, kind) => h('div', {class: `tile ${kind || ''}`}, h('span', {class: 'title'}, title), h('span', {class: 'value'}, value), h('span', {class: 'fine'}, note));

  function drawTiles() {
    const now = last(5), minute = last(60);
    const seconds = Math.max(1, now.length);
    const refused = (row) => each('deny')(row) + each('challenge')(row);
    const listed = Object.values(story.lists).reduce((a, b) => a + b, 0);
    const lists = Object.values(story.lists).filter((n) => n > 0).length;
    replace(tiles,
      tile(t('Requests a second'), short(sum(now, (row) => row.requests) / seconds), t('{n} in the last minute', {n: number(sum(minute, (row) => row.requests))})),
      tile(t('Refused a second'), short(sum(now, refused) / seconds), t('{n} in the last minute', {n: number(sum(minute, refused))}), sum(now, refused) > 0 ? 'alarm' : ''),
      tile(t('Would be, in shadow'), short(sum(now, (row) => row.shadows) / seconds), t('{n} in the last minute', {n: number(sum(minute, (row) => row.shadows))})),
      tile(t('Keys listed'), short(listed), t(counted(lists, 'on {n} list', 'on {n} lists'), {n: lists})));
  }

  function drawCharts() {
    const rows = last(SECONDS);
    const acting = EFFECTS.filter((name) => name !== 'none');
    const used = acting.filter((name) => rows.some(each(name)));
    const legend = h('ul', {class: 'legend'}, (used.length ? used : ['deny']).map((name) => h('li', {class: `fx-${name}`}, t(name))));
    replace(charts,
      panel(t('Requests a second'), timeline(rows.map((row) => ({at: row.at, values: [row.requests]})), [{class: 'fx-requests'}],
        t('Requests a second over ten minutes; now {n}', {n: number(rows.length ? rows[rows.length - 1].requests : 0)}), SECONDS)),
      panel(t('Verdicts a second'), timeline(rows.map((row) => ({at: row.at, values: acting.map((name) => each(name)(row))})),
        acting.map((name) => ({class: `fx-${name}`})), t('Verdicts a second over ten minutes; {n} in the last one', {n: number(sum(last(60), (row) => sum(acting, (name) => each(name)(row))))}), SECONDS), legend));
  }

  function drawTables() {
    replace(tables,
      panel(t('Busiest in the last minute'), table(t('Policies and lists'), [
        {title: t('Policy')}, {title: t('Verdicts')}, {title: t('In shadow')}, {title: t('Listed'), class: 'number'},
      ], busiest(story.deeds).map((deed) => [owner(deed), h('span', {class: 'counts'}, tally(deed.verdicts)), h('span', {class: 'counts'}, tally(deed.shadows, true)), deed.listed ? number(deed.listed) : '']), t('No verdicts in the last minute.'))),
      panel(t('Most often in the last {n} verdicts', {n: number(ROWS)}), table(t('Keys'), [
        {title: t('Key or client')}, {title: t('Verdicts')}, {title: t('By')},
      ], loudest(story.rows).map((each) => [keyLink(each.key), h('span', {class: 'counts'}, tally(each.effects)), {of: [...each.by].join(', '), class: 'long'}]), t('Nobody.')),
      story.rows.some((row) => row.sampled) ? h('p', {class: 'fine'}, t('A sample: of each second the last 40 verdicts.')) : null));
  }

  function drawTail() {
    const rows = story.rows.slice(-SHOWN).reverse();
    replace(tail, table(t('Live verdicts'), [
      {title: t('Time')}, {title: t('Effect')}, {title: t('By')}, {title: t('Key or client')}, {title: t('Value')}, {title: t('What')},
    ], rows.map(verdictRow), t('No verdict yet.')),
    story.missed ? h('p', {class: 'fine'}, t('{n} more are not shown: the page gets at most 40 a second.', {n: number(story.missed)})) : null);
  }

  function draw() {
    pause.setAttribute('aria-pressed', String(paused));
    if (paused) return;
    // Whoever is at a link or reads a selection is not disturbed.
    const held = [tables, tail].some((part) => part.contains(document.activeElement) && document.activeElement.tagName === 'A');
    drawTiles();
    drawCharts();
    if (held || !window.getSelection().isCollapsed) return;
    const scrolls = [...main.querySelectorAll('.scroll')].map((part) => part.scrollLeft);
    drawTables();
    drawTail();
    [...main.querySelectorAll('.scroll')].forEach((part, i) => { part.scrollLeft = scrolls[i] || 0; });
  }

  const watcher = () => { if (main.contains(tiles)) draw(); else story.watchers.delete(watcher); };
  story.watchers.add(watcher);
  draw();
  reloadOn(tiles, async () => {
    const answer = await attempt(() => get('/v1/overrides'));
    if (!answer) return;
    replace(overrides, answer.overrides.length ? panel(t('Set for a while'), h('ul', {class: 'plain'}, answer.overrides.map(overrideRow))) : null);
  });
}

