// Views as charts, the explain form, the history of loads, and the machine itself.

import {post} from './api.js';
import {bars, columns} from './charts.js';
import {attempt, effect, followLists, get, heading, note, overrideRow, panel, reloadOn, say, takeBack} from './common.js';
import {button, field, h, replace, select, table} from './dom.js';
import {bytes, clock, keyText, number, percent, span, when, zone} from './format.js';
import {changesText} from './tables.js';
import {counted, t} from './words.js';

// ---------------------------------------------------------------- views

function viewCard(view) {
  const body = h('div', {}, h('p', {class: 'fine'}, t('…')));
  const card = h('section', {class: 'panel'}, h('h2', {}, view.name),
    h('p', {class: 'fine'}, [view.metric, view.by.length ? t('by {key}', {key: view.by.join(', ')}) : '', view.window].filter(Boolean).join(' · ')), body);
  const refresh = async () => {
    if (!card.isConnected) return;
    const answer = await attempt(() => get(`/v1/views/${encodeURIComponent(view.name)}?windows=30`));
    if (!answer) return;
    const windows = [...answer.windows, ...(answer.running ? [answer.running] : [])];
    const last = windows[windows.length - 1];
    const total = (each) => (typeof each.total === 'number' ? each.total : Number(each.total) || 0);
    if (!last) {
      replace(body, h('p', {class: 'empty'}, t('Nothing has happened yet.')));
    } else {
      const rows = view.by.length ? last.rows.slice(0, 10).map((row) => ({label: keyText(row.slice(0, -1)), value: Number(row[row.length - 1])})) : [];
      const sharing = answer.sharing;
      replace(body, sharing ? h('p', {class: 'fine'}, sharing.whole ? t(counted(sharing.replicas, 'of {n} replica', 'of {n} replicas'), {n: sharing.replicas}) : t(counted(sharing.replicas, 'of {n} replica, incomplete', 'of {n} replicas, incomplete'), {n: sharing.replicas}), sharing.why ? ` (${sharing.why})` : '') : null,
        h('p', {class: 'big'}, number(last.total), h('span', {class: 'fine'}, ` ${last === answer.running ? t('so far, since {time}', {time: clock(last.start)}) : t('until {time}', {time: clock(last.end)})}`)),
        rows.length ? bars(rows, view.name) : null,
        windows.length > 1 ? columns(windows.map((each) => ({label: clock(each.start), value: total(each)})), t('{name}, the last {n} windows', {name: view.name, n: windows.length})) : null);
    }
  };
  return {card, refresh};
}

export function views(main) {
  const body = h('div', {class: 'grid'});
  main.append(heading(t('Views')), body);
  attempt(async () => {
    const cards = (await get('/v1/views')).views.slice(0, 60).map(viewCard);
    replace(body, cards.length ? cards.map((each) => each.card) : h('p', {class: 'empty'}, t('The configuration has no views.')));
    const tick = () => {
      if (!body.isConnected) return;
      if (!document.hidden) for (const each of cards) each.refresh();
      setTimeout(tick, 5000);
    };
    tick();
  });
}

// ---------------------------------------------------------------- explain

function headersOf(text) {
  const out = {};
  for (const line of text.split('\n')) {
    const colon = line.indexOf(':');
    if (colon < 1) continue;
    const name = line.slice(0, colon).trim();
    (out[name] = out[name] || []).push(line.slice(colon + 1).trim());
  }
  return out;
}

const passes = (told) => ['pass', 'none'].includes(told.verdict.effect);

export function explain(main, _path, query) {
  const method = select(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD'].map((each) => [each, each]), query.get('method') || 'POST');
  const url = h('input', {type: 'text', required: true, value: query.get('url') || '/', spellcheck: 'false', autocomplete: 'off'});
  const ip = h('input', {type: 'text', value: query.get('ip') || '203.0.113.7', spellcheck: 'false', autocomplete: 'off'});
  const headers = h('textarea', {rows: 3, spellcheck: 'false', placeholder: 'X-Device-Id: phone-1'});
  const body = h('textarea', {rows: 3, spellcheck: 'false', placeholder: '{"username": "alice"}'});
  const result = h('div', {role: 'status', class: 'stack unless-empty'});
  main.append(heading(t('Explain a request')), h('p', {class: 'fine'}, t('How the running weir would judge it now. Nothing is counted.')),
    h('form', {class: 'panel stack', onsubmit: (event) => { event.preventDefault(); run(); }},
      h('div', {class: 'filters'}, field(t('Method'), method), field(t('URL or path'), url, 'wide'), field(t('Client address'), ip)),
      h('div', {class: 'pair'}, field(t('Header fields'), headers), field(t('Body; JSON is sent as JSON'), body)),
      h('div', {class: 'row end'}, h('button', {type: 'submit', class: 'primary'}, t('Explain')))), result);

  async function run() {
    const wanted = {method: method.value, url: url.value, headers: headersOf(headers.value)};
    if (ip.value.trim()) wanted.ip = ip.value.trim();
    if (body.value.trim()) {
      try { wanted.body = JSON.parse(body.value); } catch { wanted.body = body.value; }
      if (typeof wanted.body !== 'object') wanted.body = body.value;
    }
    const told = await attempt(async () => [await post('/v1/explain', wanted), await post('/v1/explain', wanted, 'text/plain')]);
    if (!told || !result.isConnected) return;
    note('explain', {method: method.value, url: url.value, ip: ip.value.trim()});
    const alone = told[0].counted_here_only;
    replace(result, alone ? h('p', {class: 'note'}, t('Counts are those of this replica: {why}', {why: alone})) : null, h('p', {class: `summary ${passes(told[0]) ? 'free' : 'listed'}`}, t('The verdict:'), ' ', passes(told[0]) ? t('passes') : effect(told[0].verdict.effect)),
      h('pre', {class: 'told', tabindex: 0, 'aria-label': t('The explanation')}, told[1]));
  }
}

// ---------------------------------------------------------------- history

const diffLines = (text) => text.split('\n').map((line) => h('span', {class: line.startsWith('+') ? 'plus' : line.startsWith('-') ? 'minus' : line.startsWith('@@') ? 'place' : null}, `${line}\n`));

function loadCard(load) {
  const problems = load.first_problem ? h('p', {class: 'note'}, load.first_problem) : null;
  return h('article', {class: 'load'}, h('h3', {}, clock(load.at), ' ', h('span', {class: `badge ${load.ok ? 'good' : 'bad'}`}, load.ok ? t('in force') : t('refused')), ' ', h('span', {class: 'fine'}, `${load.cause} · ${load.hash.slice(0, 12)}`)),
    problems, load.diffs.length ? load.diffs.map((each) => h('details', {}, h('summary', {}, each.file), h('pre', {tabindex: 0, 'aria-label': each.file}, diffLines(each.diff)))) : h('p', {class: 'fine'}, t('no change of the files')));
}

// What a change has put in force: overrides, or limits of a table. Of others the target says enough.
const put = (after) => (Array.isArray(after) ? after.map((one) => one.text).join(' · ') : after && Array.isArray(after.changes) ? changesText(after.changes) : '');

const auditRow = (each) => [
  when(each.time), each.who === each.from ? each.who : h('span', {title: each.from}, each.who),
  h('span', {}, each.action, each.done ? null : [' ', h('span', {class: 'badge bad', title: each.problem || ''}, t('refused'))]), h('span', {}, each.target || '', h('span', {class: 'fine'}, ` ${put(each.after)}`)), each.key ? keyText(each.key) : '', {of: each.reason || each.problem || '', class: 'long'}];

export function history(main) {
  const loads = h('div', {}), undo = h('div', {}), audit = h('div', {});
  const again = button(t('Load the files again'), async () => {
    const refused = (problem) => { if (problem.status !== 422) throw problem; return {ok: false}; };
    const told = await attempt(() => post('/v1/reload').catch(refused));
    if (told) say(told.ok ? t('The configuration was loaded.') : t('The configuration has errors: the one before stays.'), {bad: !told.ok});
    window.dispatchEvent(new Event('weir-changed'));  // the history has a refused load, too
  });
  main.append(heading(t('History'), again), panel(t('Changes of lists that can be taken back'), undo), panel(t('Who changed what'), audit), panel(t('Loads of the configuration'), loads));
  const load = async () => {
    const told = await attempt(() => Promise.all([get('/v1/changes'), get('/v1/audit?limit=100')]));
    if (!told) return;
    replace(audit, table(t('Who changed what'), [{title: t('Time')}, {title: t('Who')}, {title: t('Change')}, {title: t('What')}, {title: t('Key')}, {title: t('Reason')}],
      told[1].entries.reverse().map(auditRow), t('Nothing.')));
    replace(undo, table(t('Changes of lists'), [{title: t('Time')}, {title: t('What')}, {title: t('Entries'), class: 'number'}, {unseen: t('Actions'), class: 'actions'}],
      told[0].changes.map((each) => [when(each.at), {of: each.what, class: 'long'}, number(each.entries), button(t('Undo'), () => takeBack(each.undo), {'aria-label': t('Undo: {what}', {what: each.what})})]), t('There is nothing to take back.')));
  };
  reloadOn(undo, load);
  followLists(undo, load);
  let seen = '';
  reloadOn(loads, async () => {
    const told = await attempt(() => get('/v1/reloads'));
    const text = told && JSON.stringify(told.reloads);
    if (!told || text === seen) return;  // what somebody has opened stays open
    seen = text;
    replace(loads, told.reloads.map(loadCard));
  });
}

// ---------------------------------------------------------------- system

const fact = (title, value, bad) => [h('dt', {}, title), h('dd', {class: bad ? 'bad' : null}, value)];
const share = (used, most) => `${bytes(used)} ${t('of')} ${bytes(most)} (${percent(most ? used / most : 0)})`;

function redisFacts(status) {
  if (!status.redis) return [h('p', {class: 'empty'}, t('Nothing is shared: there is no Redis.'))];
  const lists = status.shared_lists;
  return [h('dl', {class: 'facts'},
    fact(t('Redis'), status.redis.up ? t('connected to every worker') : `${t('away')}: ${status.redis.away || ''}`, !status.redis.up),
    fact(t('Connected workers'), `${status.redis.workers_up} / ${status.workers}`),
    lists ? [fact(t('Shared lists'), `${lists.lists} · ${lists.up ? t('in step') : lists.why}`, !lists.up), fact(t('Entries in Redis'), number(lists.entries)), fact(t('Not sent yet'), number(lists.pending)), fact(t('Delay at most'), span(lists.lag_seconds))] : null)];
}

function replicaTable(told) {
  if (!told || (!told.configured && !told.redis)) return h('p', {class: 'fine'}, t('There is no Redis, and admin.replicas names no others: this page knows of this replica alone.'));
  const state = (each) => (!each.up ? h('span', {class: 'badge bad'}, t('does not answer')) : each.behind ? h('span', {class: 'badge bad'}, t('behind'))
    : each.state === 'draining' ? h('span', {class: 'badge'}, t('draining')) : h('span', {class: 'badge good'}, t('in step')));
  const away = told.redis && !told.redis.up ? h('p', {class: 'note'}, told.redis.age_seconds === null ? t('Redis is away: nothing is known of other replicas yet.')
    : t('Redis is away: what is shown is {age} old. What you set holds on this replica, and is sent to the others when Redis is back.', {age: span(told.redis.age_seconds)})) : null;
  return [away, table(t('Replicas'), [{title: t('Replica')}, {title: t('Version')}, {title: t('Configuration')}, {title: t('Since')}, {title: t('Overrides'), class: 'number'}, {title: t('State')}],
    told.replicas.map((each) => [h('span', {}, each.address || each.name, each.self ? ` (${t('this one')})` : '', each.name && each.address ? h('span', {class: 'fine'}, ` ${each.name}`) : ''), each.version || '', each.hash ? h('code', {}, each.hash.slice(0, 12)) : '', each.loaded ? clock(each.loaded) : '',
      each.overrides === null ? '' : number(each.overrides), h('span', {}, state(each), each.why ? h('span', {class: 'fine'}, ` ${each.why}`) : null)]), t('None.'))];
}

/** Lists and included files that come from elsewhere: what is in force of each, and why there is nothing newer. */
function sourceTable(sources) {
  const state = (each) => (each.problem ? h('span', {class: 'badge bad'}, each.loaded ? t('not the newest') : t('not loaded')) : h('span', {class: 'badge good'}, t('in force')));
  return table(t('Files and URLs'), [{title: t('What')}, {title: t('From')}, {title: t('Entries'), class: 'number'}, {title: t('Since')}, {title: t('State')}],
    sources.map((each) => [each.kind === 'list' ? each.name : 'include', {of: each.from, class: 'long'}, each.kind === 'list' ? number(each.entries) : '', each.loaded ? when(each.loaded) : '',
      {of: [state(each), each.problem ? h('span', {class: 'fine'}, ` ${each.problem}`) : null], class: 'long'}]), t('None.'));
}

export function system(main, _path, _query, context) {
  const body = h('div', {class: 'grid'}), others = h('div', {});
  main.append(heading(t('System')), others, body);
  const load = async () => {
    const both = await attempt(() => Promise.all([get('/v1/status'), get('/v1/replicas')]));
    if (!both) return;
    const [status, replicas] = both;
    replace(others, panel(t('Replicas'), replicaTable(replicas)), status.sources.length ? panel(t('Files and URLs'), sourceTable(status.sources)) : null);
    const c = status.counters, p = status.patterns, last = status.config.last_load;
    replace(body,
      panel(t('This replica'), h('dl', {class: 'facts'}, fact(t('Version'), status.version), fact(t('Runs for'), span(status.uptime_seconds)), fact(t('Workers'), number(status.workers)),
        fact(t('Memory'), bytes(status.resident_bytes)), fact(t('Draining'), status.draining ? t('yes') : t('no'), status.draining), fact(t('Address of this page'), location.host))),
      panel(t('Configuration'), h('dl', {class: 'facts'}, fact(t('In force'), h('code', {}, status.config.hash.slice(0, 12))), fact(t('Since'), clock(status.config.loaded)),
        fact(t('Last load'), last.ok ? t('in force') : t('refused'), !last.ok), fact(t('Problems'), number(last.problem_count), last.problem_count > 0), fact(t('Policies'), number(status.policies)), fact(t('Lists'), number(status.lists))),
      last.problems.map((each) => h('p', {class: 'note'}, `${each.file}:${each.line}: ${each.message}`))),
      panel(t('Redis'), redisFacts(status)),
      panel(t('Counters'), h('dl', {class: 'facts'}, fact(t('Keys'), `${number(c.keys)} ${t('of')} ${number(c.capacity)}`), fact(t('Memory'), share(c.memory_used_bytes, c.memory_limit_bytes)),
        fact(t('Evicted'), number(c.evicted), c.evicted > 0), fact(t('Refused because memory was full'), number(c.refused_for_want_of_room), c.refused_for_want_of_room > 0), fact(t('Open matches of patterns'), number(p.open)), fact(t('Memory of patterns'), share(p.memory_used_bytes, p.memory_limit_bytes)))),
      panel(t('Set for a while'), status.overrides.length ? h('ul', {class: 'plain'}, status.overrides.map(overrideRow)) : h('p', {class: 'empty'}, t('Nothing.'))),
      panel(t('You'), h('p', {}, context.session.by === 'session' ? t('You logged in with a one-time link; the session ends at {time}.', {time: clock(context.session.until)}) : t('This port needs no login.')), context.session.as ? h('p', {}, t('The session is of {name}.', {name: context.session.as})) : null,
        h('p', {class: 'fine'}, t('Times on this page are those of {zone}.', {zone: zone()})), context.session.by === 'session' ? button(t('Log out'), context.logOut) : null));
  };
  reloadOn(body, load);
  const tick = () => {
    if (!body.isConnected) return;
    if (!document.hidden && !body.contains(document.activeElement)) load();
    setTimeout(tick, 5000);
  };
  setTimeout(tick, 5000);
}

