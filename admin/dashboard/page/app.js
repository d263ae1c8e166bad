// The frame around the views: login, navigation, language, colours, the live feed.

import {Feed, get, post, remove, whenLoggedOut} from './api.js';
import {fleet, forget, keyPlace, say} from './common.js';
import {h, replace, select} from './dom.js';
import {keyParts} from './format.js';
import {icon} from './icons.js';
import * as listed from './listed.js';
import * as now from './now.js';
import * as pages from './pages.js';
import * as policies from './policies.js';
import * as tables from './tables.js';
import {LANGUAGES, language, setLanguage, t} from './words.js';

const VIEWS = [
  {name: 'now', title: () => t('Now'), show: now.show},
  {name: 'listed', title: () => t('Who is listed'), show: listed.show},
  {name: 'find', title: () => t('Find a key'), show: listed.find, hidden: true},
  {name: 'policies', title: () => t('Policies'), show: policies.show},
  {name: 'tables', title: () => t('Tables'), show: tables.show},
  {name: 'views', title: () => t('Views'), show: pages.views},
  {name: 'explain', title: () => t('Explain'), show: pages.explain},
  {name: 'history', title: () => t('History'), show: pages.history},
  {name: 'system', title: () => t('System'), show: pages.system},
];

const context = {story: new now.Story(), session: {by: 'local', until: null}, logOut};
let feed = null;
let state = null;

function drawState() {
  if (!state) return;
  const live = context.story.state === 'live';
  state.className = `state ${live ? 'is-live' : 'is-away'}`;
  state.textContent = live ? t('live') : t('not connected');
}

// ---------------------------------------------------------------- colours

function theme(name) {
  if (name) document.documentElement.dataset.theme = name;
  else delete document.documentElement.dataset.theme;
}

const kept = (name) => { try { return localStorage.getItem(`weir-${name}`); } catch { return null; } };
const keep = (name, value) => { try { localStorage.setItem(`weir-${name}`, value); } catch { /* then it is forgotten */ } };

// ---------------------------------------------------------------- where the reader is

function place() {
  const [path, query] = location.hash.replace(/^#\/?/, '').split('?');
  const parts = path.split('/').filter(Boolean).map((each) => { try { return decodeURIComponent(each); } catch { return each; } });
  return {view: VIEWS.find((each) => each.name === parts[0]) || VIEWS[0], parts, query: new URLSearchParams(query || '')};
}

function draw(first) {
  const {view, parts, query} = place();
  const main = h('main', {id: 'main', tabindex: -1});
  document.getElementById('main').replaceWith(main);
  for (const link of document.querySelectorAll('nav a')) {
    if (link.dataset.view !== (view.hidden ? 'listed' : view.name)) { link.removeAttribute('aria-current'); continue; }
    link.setAttribute('aria-current', 'page');
    const row = link.parentElement;  // on a narrow screen it is wider than the screen
    row.scrollLeft = link.offsetLeft - (row.clientWidth - link.offsetWidth) / 2;
  }
  if (!first) forget(false);
  view.show(main, parts, query, context);
  document.title = `${parts.length > 1 ? parts[1] : view.title()} · weir`;
  if (first) return;
  const title = main.querySelector('h1');
  if (title) title.focus({preventScroll: true});
  window.scrollTo(0, 0);
}

function frame() {
  document.documentElement.lang = language() === 'zh' ? 'zh-CN' : 'en';
  const search = h('input', {type: 'search', id: 'find', placeholder: t('address, user or another key'), 'aria-label': t('Find a key'), spellcheck: 'false', autocomplete: 'off'});
  state = h('span', {class: 'state', role: 'status'});
  const languages = select(LANGUAGES, language(), {'aria-label': t('Language'), onchange: (event) => {
    keep('language', event.target.value);
    setLanguage(event.target.value);
    frame();
    draw(true);
    document.querySelector('header select').focus();
  }});
  const themes = select([['', t('auto')], ['light', t('light')], ['dark', t('dark')]], kept('theme') || '', {'aria-label': t('Colours'), onchange: (event) => {
    keep('theme', event.target.value);
    theme(event.target.value);
  }});
  replace(document.body,
    h('a', {class: 'skip', href: '#main', onclick: (event) => { event.preventDefault(); document.getElementById('main').focus(); }}, t('To the content')),
    h('header', {},
      h('a', {class: 'brand', href: '#/now'}, 'weir', h('span', {class: 'fine'}, location.host)),
      h('form', {class: 'find', role: 'search', 'aria-label': t('Find a key'), onsubmit: (event) => {
        event.preventDefault();
        const parts = keyParts(search.value);
        if (parts.length) location.hash = keyPlace(parts);
        search.value = '';
      }}, icon('search'), search),
      h('div', {class: 'tools'}, state, languages, themes)),
    h('nav', {'aria-label': t('Views of weir')}, VIEWS.filter((view) => !view.hidden).map((view) => h('a', {href: `#/${view.name}`, 'data-view': view.name}, icon(view.name), h('span', {}, view.title())))),
    h('main', {id: 'main', tabindex: -1}),
    h('div', {id: 'toasts', role: 'status', 'aria-live': 'polite'}));
  drawState();
}

// ---------------------------------------------------------------- who may look

function askForLogin(note) {
  if (feed) feed.close();
  feed = null;
  document.documentElement.lang = language() === 'zh' ? 'zh-CN' : 'en';
  const code = h('input', {type: 'text', id: 'code', autocomplete: 'off', spellcheck: 'false'});
  replace(document.body, h('main', {class: 'login'}, h('h1', {}, 'weir'),
    h('p', {}, t('This page opens by a link that works once. On a machine that has the token:')), h('pre', {tabindex: 0, 'aria-label': t('Command')}, 'weir ctl dashboard'),
    note ? h('p', {class: 'note', role: 'alert'}, note) : null,
    h('form', {onsubmit: (event) => { event.preventDefault(); logIn(code.value.split('login=').pop().trim()); }},
      h('label', {for: 'code'}, t('The link, or its code')), code, h('div', {class: 'row end'}, h('button', {type: 'submit', class: 'primary'}, t('Log in'))))));
  document.title = 'weir';
}

async function logIn(code) {
  try {
    await post('/v1/session', {code});
  } catch (problem) {
    askForLogin(problem.message);
    return;
  }
  // By the link: at the beginning. After a session has ended: where the reader was.
  if (!location.hash.startsWith('#/')) history.replaceState(null, '', '#/now');
  await begin();
}

async function logOut() {
  await remove('/v1/session').catch(() => {});
  askForLogin('');
}

async function begin() {
  try {
    context.session = await get('/v1/session');
    tables.actAs(context.session.as);
  } catch (problem) {
    askForLogin(problem.status === 401 ? '' : problem.message);
    return;
  }
  frame();
  draw(true);
  get('/v1/replicas').then((answer) => { fleet.configured = answer.configured; }).catch(() => {});
  if (feed) feed.close();
  feed = new Feed((kind, data) => context.story[kind](data), (word, why) => {
    const back = word === 'live' && context.story.state === 'gone';
    context.story.state = why || (word === 'away' && context.story.state !== 'none') ? 'gone' : word;
    drawState();
    if (why) say(t('This page is not live: {why}', {why}), {bad: true, away: true});
    if (!back) return;
    forget(true);
    window.dispatchEvent(new Event('weir-changed'));
  });
}

setLanguage(kept('language') || (navigator.languages || [navigator.language]).map((each) => each.slice(0, 2)).find((each) => each === 'zh' || each === 'en') || 'en');
theme(kept('theme'));
whenLoggedOut(() => { if (document.getElementById('toasts')) askForLogin(t('The session has ended.')); });
window.addEventListener('hashchange', () => {
  if (location.hash.startsWith('#login=')) logIn(location.hash.slice(7));
  else if (document.getElementById('toasts') && location.hash !== '#main') draw(false);
});
document.addEventListener('keydown', (event) => {
  const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
  if (event.key !== '/' || typing || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  document.getElementById('find')?.focus();
});
if (location.hash.startsWith('#login=')) logIn(location.hash.slice(7));
else begin();
