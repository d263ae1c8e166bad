// Who is listed and why; one key with all that concerns it.

import {listPath} from './api.js';
import {EFFECTS, attempt, effect, emptyCount, extend, followLists, get, heading, isNetwork, keyLink, keyPlace, mode, note, override, panel, policyLink, release, reloadOn, TIMES} from './common.js';
import {button, field, h, later, replace, select, table} from './dom.js';
import {clock, keyParts, keyText, number, span, when} from './format.js';
import {keyQuery} from './api.js';
import {counted, t} from './words.js';

const PAGE = 100;
const TRIES = 12;  // pages of a search that may be empty before the reader is asked to go on

const because = (entry) => {
  const value = entry.value === undefined ? '' : ` · ${t('{a} of {b}', {a: number(entry.value), b: number(entry.limit)})}`;
  if (entry.policy) return h('span', {}, policyLink(entry.policy), value, entry.why ? ` · ${entry.why}` : '');
  return entry.why || (entry.by === 'admin' ? t('by an operator') : '–');
};

const actions = (entry) => (entry.static ? h('span', {class: 'fine'}, entry.by === 'source' ? t('in a file or URL') : t('in the configuration')) : h('div', {class: 'row'},
  button(t('Release'), () => release(entry.list, entry.key, false), {'aria-label': t('Release {key}', {key: keyText(entry.key)})}),
  button(t('Forgive'), () => release(entry.list, entry.key, true), {'aria-label': t('Forgive {key}', {key: keyText(entry.key)}), title: t('Takes it off the list and empties its count')}),
  button(t('Extend'), () => extend(entry), {'aria-label': t('Extend {key}', {key: keyText(entry.key)})})));

const entryTable = (entries, empty) => table(t('Entries'), [
  {title: t('Key')}, {title: t('List')}, {title: t('Effect')}, {title: t('Because')}, {title: t('Since')}, {title: t('Left'), class: 'number'}, {unseen: t('Actions'), class: 'actions'},
], entries.map((entry) => [
  keyLink(entry.key), entry.list, effect(entry.effect, entry.shadow || entry.asleep), {of: because(entry), class: 'long'},
  entry.since ? when(entry.since) : '–',
  h('span', {title: clock(entry.until)}, span(entry.left_seconds)), actions(entry)]), empty);

export function show(main, _path, query) {
  const search = h('input', {type: 'search', placeholder: t('part of a key, a reason or a policy'), value: query.get('search') || '', maxlength: 200, spellcheck: 'false', autocomplete: 'off'});
  const kind = select([['', t('all effects')], ...EFFECTS.map((name) => [name, t(name)])], query.get('effect') || '');
  const where = select([['', t('all lists')]], '');
  const status = h('p', {class: 'fine', role: 'status'});
  const found = h('div', {});
  const more = button(t('Show more'), () => load(true));
  more.hidden = true;
  const unseen = h('p', {class: 'fine unless-empty'});
  let lists = [], entries = [], next = null, inSource = 0, run = 0;
  const put = button(t('Put a key on a list'), () => extend(null, lists));
  main.append(heading(t('Who is listed'), put),
    h('form', {class: 'filters', role: 'search', 'aria-label': t('Filter'), onsubmit: (event) => { event.preventDefault(); load(false); }},
      field(t('Search'), search, 'wide'), field(t('Effect'), kind), field(t('List'), where)),
    status, found, more, unseen);

  async function load(goesOn, same) {
    const mine = ++run;
    if (!found.isConnected) return;
    const wanted = same ? Math.max(PAGE, entries.length) : goesOn ? entries.length + PAGE : PAGE;
    if (!goesOn) { entries = []; next = null; }
    note('listed', {search: search.value.trim(), effect: kind.value, list: where.value});
    // A search may give empty pages on its way through a long list.
    for (let i = 0; i < TRIES && entries.length < wanted; ++i) {
      const parts = [`limit=${Math.min(PAGE, wanted - entries.length)}`];
      if (search.value.trim()) parts.push(`search=${encodeURIComponent(search.value.trim())}`);
      if (kind.value && !where.value) parts.push(`effect=${kind.value}`);
      if (next) parts.push(`after=${next}`);
      const from = where.value ? listPath(where.value) : '/v1/entries';
      const page = await attempt(() => get(`${from}?${parts.join('&')}`));
      if (mine !== run || !page) return;
      entries.push(...page.entries);
      ({next, in_source: inSource} = page);
      if (next === null) break;
    }
    status.textContent = next === null ? t(counted(entries.length, '{n} entry', '{n} entries'), {n: number(entries.length)}) : t('{n} entries, and there are more', {n: number(entries.length)});
    more.hidden = next === null;
    replace(found, entryTable(entries, search.value ? t('No entry fits the search.') : t('There are no entries.')));
    const key = search.value.trim();
    replace(unseen, inSource === 0 ? null : [
      t(counted(inSource, '{n} entry of files and URLs is not searched by a part of its key. ', '{n} entries of files and URLs are not searched by a part of their key. '), {n: number(inSource)}),
      key && !isNetwork(keyParts(key)) ? h('a', {href: keyPlace(keyParts(key))}, t('Look up the key {key}', {key})) : t('Search for a whole key, or look it up in the field at the top.')]);
  }

  const soon = later(150, () => load(false));
  search.addEventListener('input', soon);
  kind.addEventListener('change', () => { if (kind.value) where.value = ''; load(false); });
  where.addEventListener('change', () => { if (where.value) kind.value = ''; load(false); });
  attempt(async () => {
    lists = (await get('/v1/lists')).lists;
    replace(where, h('option', {value: ''}, t('all lists')), lists.map((list) => h('option', {value: list.name}, `${list.name} (${number(list.entries + list.static_entries + list.source_entries)})`)));
    where.value = query.get('list') || '';
    reloadOn(found, () => load(false, true));
    followLists(found, () => load(false, true));
  });
}

// ---------------------------------------------------------------- one key

function counterCard(counter) {
  return h('article', {class: 'card'},
    h('h3', {}, policyLink(counter.policy.split('.')[0]), ' ', mode(counter.mode)),
    h('p', {class: 'big'}, number(counter.value), h('span', {class: 'fine'}, ` ${counter.what}`)),
    counter.in_flight ? h('p', {class: 'fine'}, t('{n} of these in flight', {n: number(counter.in_flight)})) : null,
    h('ul', {class: 'plain'}, counter.rungs.map((rung) => h('li', {class: rung.holds ? 'holds' : ''},
      h('code', {}, rung.rung), rung.table ? [' ', h('a', {href: `#/tables/${encodeURIComponent(rung.table.name)}`}, t('table {name}', {name: rung.table.name}))] : null, rung.holds ? h('strong', {}, ` ${t('reached')}`) : null, rung.outlook ? h('p', {class: 'fine'}, rung.outlook) : null))),
    button(t('Empty the count'), () => emptyCount(counter.policy, counter.key), {'aria-label': t('Empty the count of {policy}', {policy: counter.policy})}));
}

function policyRow(each) {
  const time = select(TIMES(), '10m', {'aria-label': t('For how long')});
  return [policyLink(each.policy), mode(each.mode), {of: each.waits_for || each.rungs.join(' · '), class: 'long'},
    each.mode === 'shadow' ? h('span', {class: 'fine'}, t('in shadow: acts on nobody')) : h('div', {class: 'row'}, time, button(t('Silence'), () => override(each.policy, {mode: 'shadow', for: time.value, reason: t('from the page')}), {'aria-label': t('Silence {policy}', {policy: each.policy})}))];
}

export function find(main, _path, query) {
  const key = query.getAll('key');
  const result = h('div', {class: 'stack'});
  const input = h('input', {type: 'search', value: key.length ? keyText(key) : '', placeholder: t('address, user or another key'), spellcheck: 'false', autocomplete: 'off'});
  main.append(heading(key.length ? keyText(key) : t('Find a key')), h('form', {class: 'filters', onsubmit: (event) => {
    event.preventDefault();
    const parts = keyParts(input.value);
    if (parts.length) location.hash = keyPlace(parts);
  }}, field(t('Key; commas between several parts, quotes around a part with a comma'), input, 'wide'), h('div', {class: 'field'}, h('button', {type: 'submit', class: 'primary'}, t('Look up')))), result);
  if (key.length === 0) return;
  const load = async () => {
    const answer = await attempt(() => get(`/v1/why?${keyQuery(key)}`));
    if (!answer) return;
    const asleep = answer.entries.some((entry) => entry.asleep);
    const verdict = answer.allowed ? 'allowed' : answer.listed ? 'listed' : 'free';
    const words = {allowed: t('is on an allow list: policies do not act on it'), listed: t('is listed'), free: asleep ? t('is listed, but acts on nobody until the change of the policy ends') : answer.complete ? t('is on no list') : t('is on no list that could be searched')};
    replace(result,
      h('p', {class: `summary ${verdict}`, role: 'status'}, h('strong', {}, keyText(answer.key)), ' ', words[verdict], ' ', answer.listed && !answer.allowed ? effect(answer.effect) : null),
      answer.unsearched.map((each) => h('p', {class: 'note'}, t(counted(each.entries, '{n} entry of {source}, on the list {list}, is found by the whole key only: {fields}', '{n} entries of {source}, on the list {list}, are found by the whole key only: {fields}'), {n: number(each.entries), source: each.source, list: each.list, fields: each.of.join(', ')}))),
      answer.complete || answer.unsearched.length ? null : h('p', {class: 'note'}, t('There are too many entries: not all of them were searched.')),
      answer.counted_here_only ? h('p', {class: 'note'}, t('Counts are those of this replica: {why}', {why: answer.counted_here_only})) : null,
      panel(t('On lists'), entryTable(answer.entries, t('On no list.'))),
      panel(t('Counted'), answer.counters.length ? h('div', {class: 'cards'}, answer.counters.map(counterCard)) : h('p', {class: 'empty'}, t('Nothing is counted for it.'))),
      panel(t('Policies that concern it'), table(t('Policies that concern it'), [{title: t('Policy')}, {title: t('Mode')}, {title: t('Rungs')}, {title: t('Silence for a while')}], answer.policies.map(policyRow), t('None.'))));
  };
  reloadOn(result, load);
  followLists(result, load);
}
