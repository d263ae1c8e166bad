// The public API of the admin door (docs/openapi.yaml), and nothing else.

import {t} from './words.js';

export class ApiError extends Error {
  constructor(status, detail, body) {
    super(detail);
    this.status = status;
    this.body = body;
  }
}

let onLost = () => {};
/** Called when the door wants a login. */
export const whenLoggedOut = (wanted) => { onLost = wanted; };

async function ask(method, path, body, accept) {
  const options = {method, headers: {Accept: accept || 'application/json'}, credentials: 'same-origin', cache: 'no-store'};
  if (method !== 'GET') {
    options.headers['Content-Type'] = 'application/json';
    options.body = JSON.stringify(body || {});
  }
  let answer;
  try {
    answer = await fetch(path, options);
  } catch {
    throw new ApiError(0, t('weir does not answer'), null);
  }
  if (answer.ok && accept) return answer.text();
  const told = await answer.json().catch(() => ({}));
  if (answer.ok) return told;
  if (answer.status === 401) onLost();
  throw new ApiError(answer.status, told.detail || `status ${answer.status}`, told);
}

export const get = (path) => ask('GET', path);
export const getText = (path) => ask('GET', path, null, 'text/plain');
export const post = (path, body, accept) => ask('POST', path, body, accept);
export const put = (path, body) => ask('PUT', path, body);
export const remove = (path) => ask('DELETE', path);

const part = encodeURIComponent;
/** `/v1/lists/NAME/entries?key=..&key=..` */
export const keyQuery = (key) => key.map((each) => `key=${part(each)}`).join('&');
export const listPath = (name) => `/v1/lists/${part(name)}`;
export const policyPath = (name) => `/v1/policies/${part(name)}`;

/** The live feed: told(kind, data) for `past` and each `second`; state(word, why) says how it fares. It comes back by itself. */
export class Feed {
  constructor(told, state) {
    this.told = told;
    this.state = state;
    this.open();
  }

  open() {
    this.source = new EventSource('/v1/live');
    this.source.onopen = () => this.state('live');
    for (const kind of ['past', 'second']) {
      this.source.addEventListener(kind, (event) => this.told(kind, JSON.parse(event.data)));
    }
    this.source.onerror = () => {
      this.state('away');
      if (this.source.readyState !== EventSource.CLOSED) return;
      // Refused: too many pages, or no session any more. The browser does not say which.
      this.timer = setTimeout(() => this.open(), 5000);
      this.askWhy();
    };
  }

  async askWhy() {
    const stop = new AbortController();
    try {
      const answer = await fetch('/v1/live', {credentials: 'same-origin', cache: 'no-store', signal: stop.signal});
      if (answer.status === 401) onLost();
      else if (!answer.ok) this.state('away', (await answer.json()).detail || `status ${answer.status}`);
    } catch { /* weir does not answer */ }
    stop.abort();
  }

  close() {
    clearTimeout(this.timer);
    this.source.close();
  }
}
