// All policies; one with its histogram, whose rungs can be moved and put in force.

import {policyPath} from './api.js';
import {Axis, keysHit} from './charts.js';
import {TIMES, attempt, effect, copy, get, heading, mode, note, override, overrideRow, panel, policyLink, reloadOn, tally} from './common.js';
import {button, field, h, later, replace, s, select, table} from './dom.js';
import {number, percent, short} from './format.js';
import {counted, t} from './words.js';

const PAGE = 100;

export function show(main, path, query, context) {
  if (path.length > 1) one(main, path[1], context);
  else all(main, query);
}

function all(main, query) {
  const search = h('input', {type: 'search', value: query.get('search') || '', placeholder: t('part of a name'), spellcheck: 'false', autocomplete: 'off'});
  const status = h('p', {class: 'fine', role: 'status'});
  const found = h('div', {});
  const more = button(t('Show more'), () => load(true));
  let policies = [], disabled = [], next = null, run = 0;
  main.append(heading(t('Policies')), h('form', {class: 'filters', role: 'search', 'aria-label': t('Filter'), onsubmit: (event) => event.preventDefault()}, field(t('Search'), search, 'wide')), status, found, more);

  async function load(goesOn) {
    const mine = ++run;
    if (!found.isConnected) return;
    note('policies', {search: search.value.trim()});
    const after = goesOn && next !== null ? `&after=${next}` : '';
    const page = await attempt(() => get(`/v1/policies?limit=${PAGE}${after}&search=${encodeURIComponent(search.value.trim())}`));
    if (!page || mine !== run) return;
    policies = goesOn ? [...policies, ...page.policies] : page.policies;
    ({disabled, next} = page);
    more.hidden = next === null;
    status.textContent = t(counted(page.found, '{n} policy', '{n} policies'), {n: number(page.found)});
    replace(found, table(t('Policies'), [
      {title: t('Policy')}, {title: t('Mode')}, {title: t('Key')}, {title: t('Counts')}, {title: t('Rungs')}, {title: t('Verdicts since the start')},
    ], [...policies.map((policy) => [
      policyLink(policy.name), h('div', {class: 'row'}, mode(policy.mode), policy.overrides.length ? h('span', {class: 'badge override'}, t('set for a while')) : null),
      policy.key.join(', ') || t('one count for all'), {of: policy.pattern || [policy.metric, policy.window].filter(Boolean).join(' · '), class: 'long'}, {of: policy.rungs.join(' · '), class: 'long'},
      h('span', {class: 'counts'}, tally(policy.totals.verdicts), tally(policy.totals.shadows, true))]),
    ...disabled.map((name) => [policyLink(name), mode('disabled'), '', '', '', ''])], search.value ? t('There is no such policy.') : t('The configuration has no policies.')));
  }
  search.addEventListener('input', later(150, () => load(false)));
  reloadOn(found, () => load(false));
}

// ---------------------------------------------------------------- one policy

function modes(name, now) {
  const time = select(TIMES(), '10m');
  const reason = h('input', {type: 'text', maxlength: 200, placeholder: t('a ticket, a name')});
  const set = (word) => override(name, {mode: word, for: time.value, reason: reason.value});
  return h('div', {class: 'filters'}, field(t('For'), time), field(t('Reason'), reason, 'wide'),
    h('div', {class: 'field'}, h('div', {class: 'row'},
      button(t('Silence'), () => set('shadow'), {disabled: now === 'shadow', title: t('It goes on counting, and acts on nobody')}),
      button(t('Enforce'), () => set('enforce'), {disabled: now === 'enforce'}),
      button(t('Disable'), () => set('disabled'), {disabled: now === 'disabled', title: t('It counts nothing meanwhile')}))));
}

/** The line of the file with another threshold: `{over: 50, do: deny}` of the policy's own text, if it is found. */
function yamlLine(files, policy, rung, value) {
  const wanted = new RegExp(`\\b${rung.compare}:\\s*${String(rung.limit).replace('.', '\\.')}(?![\\d.])`);
  for (const file of files) {
    const lines = file.text.split('\n');
    let inside = false;
    for (let i = 0; i < lines.length; ++i) {
      const name = /\bname:\s*["']?([\w.:-]+)/.exec(lines[i]);
      if (name) inside = name[1] === policy;
      if (!inside || !wanted.test(lines[i])) continue;
      return {place: `${file.name}:${i + 1}`, before: lines[i].trim(), after: lines[i].trim().replace(wanted, `${rung.compare}: ${value}`)};
    }
  }
  const text = (limit) => `- {${rung.compare}: ${limit}, do: ${rung.effect}${rung.for ? `, for: ${rung.for}` : ''}}`;
  return {place: policy, before: text(rung.limit), after: text(value)};
}

/** The limits that a table has for a step: one row each, with how many keys it would hit. */
function tableLimits(rung) {
  const {name, by, limits, left_out: left, unlimited} = rung.table;
  const title = t('Limits of {table}, by {fields}', {table: name, fields: by.join(', ')});
  const link = (text, label) => h('a', {href: `#/tables/${encodeURIComponent(name)}`, 'aria-label': label}, text);
  return h('section', {class: 'stack'}, h('h3', {}, effect(rung.effect, rung.shadow), ' ', h('code', {}, rung.rung)),
    h('p', {class: 'fine'}, t('Each event brings the fields that choose its limit. The limits are changed in the table '), link(name)),
    table(title, [{title: t('Limit'), class: 'number'}, {title: t('Cell of the table')}, {title: t('Keys that it would hit'), class: 'number'}],
      limits.map((each) => [link(number(each.limit), t('Change the limit {limit}', {limit: number(each.limit)})), {of: each.of.join(' · ') + (each.cells > each.of.length ? ' …' : ''), class: 'long'}, number(each.keys)]), t('The table has no limits.')),
    left ? h('p', {class: 'fine'}, t('{n} more limits lie between these.', {n: number(left)})) : null,
    unlimited ? h('p', {class: 'fine'}, t(counted(unlimited, '{n} cell of the table has no limit.', '{n} cells of the table have no limit.'), {n: number(unlimited)})) : null);
}

const FLAGS = 6;  // names above the picture that still can be read
const STEPS = 1000;

function histogram(policy, counter, files, shared) {
  const rungs = counter.rungs.filter((rung) => typeof rung.limit === 'number');
  const ofTables = counter.rungs.filter((rung) => rung.table);
  const fixed = ofTables.flatMap((rung) => rung.table.limits.map((each) => ({...each, rung})));
  const axis = Axis.over(counter.bins, [...rungs, ...fixed].map((each) => each.limit));
  const whole = counter.bins.every((bin) => Number.isInteger(bin[0]));
  const round = (value) => (whole ? Math.max(0, Math.round(value)) : Number(value.toPrecision(3)));
  let chosen = rungs[0];
  let value = chosen ? chosen.limit : 0;

  const most = Math.max(1, ...counter.bins.map((bin) => bin[2]));
  const tall = (n) => Math.log1p(n) / Math.log1p(most);
  const drawn = counter.bins.map(([from, to, n]) => {
    const x = axis.place(from) * 1000, wide = Math.max(1.5, axis.place(to) * 1000 - x - 0.5);
    return {from, bar: s('rect', {x, width: wide, y: 200 - tall(n) * 190, height: tall(n) * 190, class: 'column'}, s('title', {}, t(counted(n, '{n} key with the reading {from}', '{n} keys with the reading {from}'), {n: number(n), from: number(from)})))};
  });
  const markOf = (limit, rung, flag, link) => {
    const place = axis.place(limit);
    const side = place > 0.88 ? ' is-left' : place < 0.1 ? ' is-right' : '';  // inside the picture
    const mark = h(link ? 'a' : 'span', {class: `mark fx-${rung.effect}${side}${link ? ' of-table' : ''}`, ...link}, h('span', {class: 'flag'}, flag));
    mark.style.left = `${place * 100}%`;
    return mark;
  };
  const marks = [
    ...rungs.map((rung) => markOf(rung.limit, rung, `${rung.compare} ${number(rung.limit)}`)),
    ...fixed.map((each) => {
      const words = `${each.rung.compare} ${number(each.limit)} · ${each.of.join(' · ')}`;
      // The rows below are links to the same table: these are for the mouse.
      return markOf(each.limit, each.rung, fixed.length > FLAGS ? '' : `${each.rung.compare} ${number(each.limit)}`,
        {href: `#/tables/${encodeURIComponent(each.rung.table.name)}`, title: words, tabindex: -1, 'aria-hidden': 'true'});
    }),
  ];
  const handle = h('span', {class: 'handle'});
  const range = h('input', {type: 'range', min: 0, max: STEPS, step: 1, 'aria-label': t('Threshold')});
  const exact = h('input', {type: 'number', min: 0, step: whole ? 1 : 'any'});
  const words = h('output', {class: 'hit'});
  const yaml = h('div', {class: 'yaml'});

  function set(wanted, mover) {
    value = Math.max(0, round(wanted));
    const hit = keysHit(counter.bins, chosen.compare, value);
    const now = keysHit(counter.bins, chosen.compare, chosen.limit);
    handle.style.left = `${axis.place(value) * 100}%`;
    for (const each of drawn) each.bar.classList.toggle('is-hit', chosen.compare === 'under' ? each.from < value : chosen.compare === 'at' ? each.from >= value : each.from > value);
    if (mover !== range) range.value = axis.place(value) * STEPS;
    if (mover !== exact) exact.value = value;
    const sentence = (shared ? `${t('Of what this replica has counted itself:')} ` : '') + t(counted(counter.keys, '{compare} {value}: {n} of {all} key ({part}) would be hit; now {now}', '{compare} {value}: {n} of {all} keys ({part}) would be hit; now {now}'), {compare: chosen.compare, value: number(value), n: number(hit), all: number(counter.keys), part: percent(counter.keys ? hit / counter.keys : 0), now: number(now)});
    words.textContent = sentence;
    range.setAttribute('aria-valuetext', sentence);
    const line = yamlLine(files, policy.split('.')[0], chosen, value);
    if (value === chosen.limit) {
      replace(yaml, h('p', {class: 'fine'}, t('Move the rung with the mouse, the arrow keys or the number to see how many keys another threshold would hit.')));
      return;
    }
    replace(yaml, h('p', {class: 'fine'}, t('For a permanent change, in the file: {place}', {place: line.place})),
      h('pre', {tabindex: 0, 'aria-label': t('The line of the file')}, h('span', {class: 'minus'}, `- ${line.before}\n`), h('span', {class: 'plus'}, '+ ', h('span', {class: 'line'}, line.after))),
      button(t('Copy the line'), () => copy(line.after, yaml.querySelector('.line'))));
  }

  const plot = h('div', {class: 'histogram'},
    s('svg', {viewBox: '0 0 1000 200', preserveAspectRatio: 'none', role: 'img', 'aria-label': t(counted(counter.keys, 'Keys by their reading; {n} key in all', 'Keys by their reading; {n} keys in all'), {n: number(counter.keys)})},
      drawn.map((each) => each.bar), s('line', {x1: 0, x2: 1000, y1: 199.5, y2: 199.5, class: 'axis'})), marks, chosen ? handle : null);
  const ticks = h('div', {class: 'axis-labels', 'aria-hidden': 'true'}, axis.ticks().map((tick) => {
    const label = h('span', {}, short(tick));
    label.style.left = `${axis.place(tick) * 100}%`;
    return label;
  }));
  const heading3 = h('p', {class: 'fine'}, `${counter.what} · ${t(counted(counter.keys, '{n} key', '{n} keys'), {n: number(counter.keys)})}`);
  const empty = counter.keys === 0 ? h('p', {class: 'empty'}, counter.around ? t('It counts about places: there are no keys to show.') : t('No key has a reading now.')) : null;
  const tablesBelow = ofTables.map(tableLimits);
  if (!chosen) return [heading3, empty, plot, ticks, tablesBelow];

  const drag = (event) => {
    if (event.buttons !== 1) return;
    const box = plot.getBoundingClientRect();
    set(axis.value((event.clientX - box.left) / box.width), plot);
  };
  plot.addEventListener('pointerdown', (event) => { if (event.target.closest('a')) return; plot.setPointerCapture(event.pointerId); drag(event); });
  plot.addEventListener('pointermove', drag);
  range.addEventListener('input', () => set(axis.value(range.value / STEPS), range));
  exact.addEventListener('input', () => { if (exact.value !== '') set(Number(exact.value), exact); });
  const which = h('fieldset', {class: 'rungs'}, h('legend', {}, t('Rung to move')), rungs.map((rung, i) =>
    h('label', {}, h('input', {type: 'radio', name: `rung-${policy}-${counter.window}`, checked: i === 0, onchange: () => { chosen = rung; set(rung.limit); }}),
      h('span', {class: 'row'}, effect(rung.effect, rung.shadow), h('code', {}, rung.rung), h('span', {class: 'fine'}, t(counted(rung.keys, '{n} key now', '{n} keys now'), {n: number(rung.keys)}))))));
  const time = select(TIMES(), '10m');
  const reason = h('input', {type: 'text', maxlength: 200});
  const force = button(t('Put in force'), () => override(policy.split('.')[0], {set: {[chosen.set]: value}, for: time.value, reason: reason.value}), {class: 'primary'});
  set(value);
  return [heading3, empty, which, plot, ticks, range,
    h('div', {class: 'filters'}, field(t('Threshold'), exact), field(t('For'), time), field(t('Reason'), reason, 'wide'), h('div', {class: 'field'}, force)),
    h('p', {role: 'status'}, words), yaml, tablesBelow];
}

function facts(policy) {
  const told = [...tally(policy.totals.verdicts), ...tally(policy.totals.shadows, true)];
  const row = (title, value) => ((Array.isArray(value) ? value.length : value) ? [h('dt', {}, title), h('dd', {}, value)] : null);
  return h('dl', {class: 'facts'}, row(t('Counts events'), policy.watch.join(', ')), row(t('When'), policy.when ? h('code', {}, policy.when) : ''), row(t('Guards'), policy.guard.join(', ')),
    row(t('Key'), policy.key.join(', ') || t('one count for all')), row(t('Counts'), [policy.metric, policy.window].filter(Boolean).join(' · ')), row(t('Waits for'), policy.pattern),
    row(t('Rungs'), h('ol', {class: 'plain'}, policy.rungs.map((rung) => h('li', {}, h('code', {}, rung))))),
    row(t('Lists'), policy.lists.map((name, i) => [i ? ', ' : '', h('a', {href: `#/listed?list=${encodeURIComponent(name)}`}, name)])),
    row(t('Verdicts since the start'), told.length ? h('span', {class: 'counts'}, told) : '–'),
    row(t('Fields missing'), policy.totals.missing ? number(policy.totals.missing) : ''));
}

async function readings(policy) {
  const names = policy.metrics.length ? policy.metrics.map((metric) => metric.name) : policy.metric === 'none' || policy.metric === 'score' ? [] : [policy.name];
  const answers = await Promise.all(names.map((name) => attempt(() => get(`${policyPath(name)}/readings?bins=600`))));
  return answers.filter(Boolean);
}

function one(main, name) {
  const head = heading(name, h('a', {href: '#/policies', class: 'button'}, t('All policies')));
  const body = h('div', {class: 'stack'});
  main.append(head, body);
  reloadOn(body, async () => {
    const answer = await attempt(() => get(`/v1/policies?search=${encodeURIComponent(name)}`));
    if (!answer) return;
    const policy = answer.policies.find((each) => each.name === name);
    if (!policy) {
      const disabled = answer.disabled.includes(name);
      replace(body, disabled ? panel(t('Mode'), h('p', {}, mode('disabled'), ' ', t('It counts nothing.')), modes(name, 'disabled')) : h('p', {class: 'empty'}, t('There is no such policy.')));
      return;
    }
    const [told, config] = await Promise.all([readings(policy), attempt(() => get('/v1/config'))]);
    const files = config ? config.files : [];
    replace(body,
      h('div', {class: 'pair'},
        panel(t('Mode'), h('p', {}, mode(policy.mode)), policy.overrides.length ? h('ul', {class: 'plain'}, policy.overrides.map(overrideRow)) : null, modes(name, policy.mode)),
        panel(t('What it does'), facts(policy))),
      told.map((each) => panel(null, h('div', {class: 'panel-head'}, h('h2', {}, t('Readings of all keys')), button(t('Read again'), () => window.dispatchEvent(new Event('weir-changed')))), each.shared ? h('p', {class: 'note'}, t('Replicas share these counters. The histogram shows what this replica has counted itself, not the counts of all.')) : null, each.counters.map((counter) => h('div', {class: 'counter'}, histogram(each.policy, counter, files, each.shared))))));
  });
}
