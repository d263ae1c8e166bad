// What the three users of the dashboard do, done by clicking in Chromium: jobs.mjs JOB
// The environment says where: WEIR_BINARY, WEIR_PROXY_PORT, WEIR_ADMIN_PORT, WEIR_TOKEN_FILE, BROWSER_MODULES.
// Exit code 0: it worked; else what did not is on stderr.
import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import {createRequire} from 'node:module';
import {readFileSync, writeFileSync} from 'node:fs';
import http from 'node:http';

const environment = process.env;
const require = createRequire(`${environment.BROWSER_MODULES}/`);
const {chromium} = require('playwright-core');
const axeSource = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
const door = `127.0.0.1:${environment.WEIR_ADMIN_PORT}`;
const base = `http://${door}/`;
const replicas = (environment.WEIR_REPLICAS || '').split(',').filter(Boolean).map((each) => each.split(':')).map(([port, admin, pid]) => ({port, admin: `127.0.0.1:${admin}`, pid: Number(pid)}));
const doors = [base, ...replicas.map((each) => `http://${each.admin}/`)];
const POLICY = 'login-per-ip', ATTACKER = '203.0.113.9', VICTIM = '203.0.113.50';

// ---------------------------------------------------------------- outside the browser

function ctl(...words) {
  return ctlOf(door, ...words);
}
function ctlOf(where, ...words) {
  return execFileSync(environment.WEIR_BINARY, ['ctl', ...words],
    {encoding: 'utf8', env: {PATH: environment.PATH, WEIR_ADMIN_LISTEN: where, WEIR_ADMIN_TOKEN_FILE: environment.WEIR_TOKEN_FILE}});
}
/** What a question is answered with; a "no" (exit code 1) is an answer. */
function asked(...words) {
  try {
    return JSON.parse(ctl('-o', 'json', ...words));
  } catch (problem) {
    if (problem.status !== 1) throw problem;
    return JSON.parse(problem.stdout);
  }
}
const link = () => ctl('dashboard').split('\n')[0];

/** A failed login of the address, at this replica or another; its status. */
function login(ip, port = environment.WEIR_PROXY_PORT) {
  return new Promise((resolve, reject) => {
    const request = http.request({host: '127.0.0.1', port, method: 'POST', path: '/api/login',
      headers: {'X-Forwarded-For': ip, 'Content-Type': 'application/json', 'Content-Length': 2}}, (answer) => { answer.resume(); answer.on('end', () => resolve(answer.statusCode)); });
    request.on('error', reject);
    request.end('{}');
  });
}
/** The status of another request of the address. */
function visit(ip, port) {
  return new Promise((resolve, reject) => {
    http.get({host: '127.0.0.1', port, path: '/', headers: {'X-Forwarded-For': ip}}, (answer) => { answer.resume(); answer.on('end', () => resolve(answer.statusCode)); }).on('error', reject);
  });
}
async function logins(ip, times) {
  let status = 0;
  for (let i = 0; i < times; ++i) status = await login(ip);
  return status;
}

// ---------------------------------------------------------------- the browser

const browser = await chromium.launch({executablePath: environment.CHROMIUM || '/usr/bin/chromium', args: ['--no-sandbox']});
const complaints = [];

/** A page that notes errors, broken rules of the Content-Security-Policy, and requests to elsewhere. */
async function open(options = {}, cookies = null) {
  const context = await browser.newContext({viewport: {width: 1280, height: 900}, locale: 'en-US', ...options});
  if (cookies) await context.addCookies(cookies);
  const page = await context.newPage();
  page.setDefaultTimeout(15_000);
  page.on('pageerror', (error) => complaints.push(error.stack));
  page.on('console', (message) => { if (message.type() === 'error' && !message.text().includes('401')) complaints.push(message.text()); });
  page.on('request', (request) => { if (!doors.some((each) => request.url().startsWith(each))) complaints.push(`a request to ${request.url()}`); });
  return page;
}

async function logIn(page, where = door) {
  await page.goto(ctlOf(where, 'dashboard').split('\n')[0]);
  await page.getByRole('navigation').waitFor();
}
const view = (page, name) => page.getByRole('navigation').getByRole('link', {name, exact: true}).click();
const told = (page, text) => page.locator('#toasts').getByText(text).first().waitFor();

const JOBS = {
  // The platform engineer: an attack is found and explained, a victim let go, the policy silenced and enforced again.
  async platform() {
    const page = await open();
    await logIn(page);
    assert.equal(new URL(page.url()).hash, '#/now');  // the code is not in the address any more
    await logins(VICTIM, 51);
    let attacked = true;
    const attack = (async () => { while (attacked) { await login(ATTACKER); await page.waitForTimeout(20); } })();
    const loudest = page.locator('section', {hasText: 'Most often in the last 200 verdicts'});
    await loudest.getByRole('link', {name: ATTACKER}).waitFor();
    await page.getByRole('row').filter({hasText: ATTACKER}).filter({hasText: 'deny'}).first().waitFor();
    attacked = false;
    await attack;
    assert.equal(await login(ATTACKER), 403);
    await loudest.getByRole('link', {name: ATTACKER}).first().click();
    await page.getByText(`${ATTACKER} is listed deny`).waitFor();
    await page.getByText('the count stands at 50 of 50: the next login_failed lists again').waitFor();

    await page.getByRole('searchbox', {name: 'Find a key'}).fill(VICTIM);
    await page.keyboard.press('Enter');
    await page.getByText(`${VICTIM} is listed deny`).waitFor();
    const entry = page.getByRole('row').filter({hasText: 'login-per-ip:deny'});
    await entry.getByRole('button', {name: `Forgive ${VICTIM}`}).click();
    await told(page, `${VICTIM} is forgiven`);
    await page.getByRole('row').filter({hasText: 'login-per-ip:graylist'}).getByRole('button', {name: `Release ${VICTIM}`}).click();
    await page.getByText(`${VICTIM} is on no list`).waitFor();
    assert.equal(await login(VICTIM), 401);

    await page.getByRole('link', {name: POLICY}).first().click();
    await page.getByLabel('Reason').first().fill('ticket 4711');
    await page.getByRole('button', {name: 'Silence', exact: true}).click();
    await told(page, `${POLICY}: shadow until`);
    assert.equal(await login(ATTACKER), 401);
    assert.equal(asked('policy', POLICY).overrides[0].reason, 'ticket 4711');
    await view(page, 'Now');
    await page.getByText('ticket 4711').waitFor();
    await page.getByRole('button', {name: `Restore ${POLICY} now`}).click();
    await told(page, `${POLICY} is as the files say it`);
    await told(page, 'ended: shadow');
    assert.equal(await login(ATTACKER), 403);
  },

  // The backend developer: a request is explained, a threshold tried on the histogram and put in force.
  async backend() {
    for (let i = 0; i < 30; ++i) await logins(`198.51.100.${i + 1}`, 1 + i);
    const page = await open();
    await logIn(page);
    await view(page, 'Explain');
    await page.getByLabel('URL or path').fill('/api/login');
    await page.getByLabel('Client address').fill('198.51.100.30');
    await page.getByLabel('Body').fill('{"username": "alice"}');
    await page.getByRole('button', {name: 'Explain', exact: true}).click();
    await page.locator('pre.told').getByText('login-per-ip').first().waitFor();

    await view(page, 'Policies');
    await page.getByLabel('Search', {exact: true}).fill('LOGIN');
    await page.getByText('1 policy').waitFor();
    await page.getByRole('link', {name: POLICY}).click();
    await page.getByLabel('over 50: deny for 1h').check();
    const sentence = page.locator('output');
    await page.getByText('over 50: 0 of 30 keys (0%) would be hit; now 0').waitFor();
    const slider = page.getByRole('slider', {name: 'Threshold'});
    await slider.focus();
    const before = await sentence.textContent();
    for (let i = 0; i < 40; ++i) await page.keyboard.press('ArrowLeft');
    assert.notEqual(await sentence.textContent(), before);
    assert.equal(await slider.getAttribute('aria-valuetext'), await sentence.textContent());
    // By the mouse: to the left end everybody is hit.
    const plot = await page.locator('.histogram').boundingBox();
    await page.mouse.move(plot.x + plot.width / 2, plot.y + 50);
    await page.mouse.down();
    await page.mouse.move(plot.x + 1, plot.y + 50);
    await page.mouse.up();
    await page.getByText('over 0: 30 of 30 keys (100%) would be hit; now 0').waitFor();
    await page.getByRole('spinbutton', {name: 'Threshold'}).fill('25');
    await page.getByText('over 25: 5 of 30 keys (16.7%) would be hit; now 0').waitFor();
    await page.locator('.yaml').getByText('over: 25, do: deny, for: 1h').waitFor();
    await page.getByRole('button', {name: 'Put in force'}).click();
    await told(page, `${POLICY}: 3.over=25 until`);
    await page.getByText('over 25: deny for 1h').first().waitFor();
    assert.equal(await logins('198.51.100.30', 2), 403);
    assert.equal(await logins('198.51.100.3', 2), 401);
    await page.getByRole('button', {name: `Restore ${POLICY} now`}).click();
    await page.getByText('over 50: deny for 1h').first().waitFor();
    await view(page, 'History');  // the history has the action that was put in force, not only the policy
    await page.locator('section', {hasText: 'Who changed what'}).getByRole('row').filter({hasText: 'override.set'}).filter({hasText: '3.over=25'}).first().waitFor();
  },

  // Anti-fraud staff: one user is found, kept for longer, released, and put back.
  async fraud() {
    for (const user of ['alice', 'bob', 'carol']) ctl('list', 'watched_users', user, '--add', '--for', '1h', '--why', `case of ${user}`);
    const page = await open();
    await logIn(page);
    await view(page, 'Who is listed');
    await page.getByRole('link', {name: 'bob'}).waitFor();
    await page.getByLabel('Search', {exact: true}).fill('ALI');
    await page.getByText('1 entry').waitFor();
    await page.getByRole('button', {name: 'Extend alice'}).click();
    await page.getByLabel('From now on for').selectOption('24h');
    await page.getByLabel('Reason').fill('case reopened');
    await page.keyboard.press('Enter');
    await told(page, 'alice is on watched_users until');
    await page.getByText(/23 h 59 min|1 d 0 h/).waitFor();
    await page.getByRole('button', {name: 'Release alice'}).click();
    await told(page, 'alice is released');
    await page.getByText('No entry fits the search.').waitFor();
    assert.equal(asked('list', 'watched_users', 'alice').listed, false);
    await page.locator('.toast', {hasText: 'alice is released'}).getByRole('button', {name: 'Undo'}).click();
    await told(page, 'Undone: 1 restored, 0 removed.');
    await told(page, 'removed a key of watched_users');
    await page.getByRole('link', {name: 'alice'}).waitFor();
    assert.equal(asked('list', 'watched_users', 'alice').listed, true);

    // By the keyboard: the focus goes to the next row, from the last row to the one before, at last to the heading.
    const focused = () => page.evaluate(() => document.activeElement.getAttribute('aria-label') || document.activeElement.textContent);
    const focusIs = async (wanted) => {
      for (let tries = 0; tries < 100 && await focused() !== wanted; ++tries) await page.waitForTimeout(50);
      assert.equal(await focused(), wanted);
    };
    await page.getByLabel('Search', {exact: true}).fill('case of');
    await page.getByText('2 entries').waitFor();
    const people = await page.getByRole('button', {name: /^Release /}).evaluateAll((all) => all.map((each) => each.getAttribute('aria-label').slice(8)));
    await page.getByRole('button', {name: `Release ${people[0]}`}).press('Enter');
    await focusIs(`Release ${people[1]}`);
    await page.locator('.toast', {hasText: `${people[0]} is released`}).getByRole('button', {name: 'Undo'}).press('Enter');
    await told(page, 'Undone: 1 restored, 0 removed.');
    await focusIs('Who is listed');
    await page.getByRole('button', {name: `Release ${people[0]}`}).waitFor();
    await page.getByRole('button', {name: `Release ${people[1]}`}).press('Enter');
    await focusIs(`Release ${people[0]}`);
    await page.keyboard.press('Enter');
    await page.getByText('No entry fits the search.').waitFor();
    await focusIs('Who is listed');
    await page.getByLabel('Search', {exact: true}).fill('');

    await page.getByRole('button', {name: 'Put a key on a list'}).click();
    await page.keyboard.press('Escape');
    assert.equal(await page.getByRole('dialog').count(), 0);
    await page.getByRole('button', {name: 'Put a key on a list'}).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('List').selectOption('watched_users');
    await dialog.getByLabel('Key: user').fill('mallory');
    await dialog.getByRole('button', {name: 'Put on the list'}).click();
    await told(page, 'mallory is on watched_users until');
    await view(page, 'History');
    await page.getByRole('row').filter({hasText: 'added a key to watched_users'}).first().getByRole('button', {name: /Undo/}).click();
    await told(page, 'Undone: 0 restored, 1 removed.');
    assert.equal(asked('list', 'watched_users', 'mallory').listed, false);
    await page.getByText('in force').first().waitFor();
    const audit = page.locator('section', {hasText: 'Who changed what'});
    await audit.getByRole('row').filter({hasText: 'list.remove'}).filter({hasText: 'alice'}).filter({hasText: 'session'}).first().waitFor();
  },

  // Who may look: a link works once, logging out ends it, a new link opens it again.
  async session() {
    const page = await open();
    await page.goto(base);
    await page.getByText('weir ctl dashboard').waitFor();
    const made = link();
    await page.getByLabel('The link, or its code').fill(made);
    await page.getByRole('button', {name: 'Log in'}).click();
    await page.getByRole('navigation').waitFor();
    const [cookie] = await page.context().cookies();
    assert.equal(cookie.httpOnly, true);
    assert.equal(cookie.sameSite, 'Strict');
    await view(page, 'System');
    await page.getByRole('button', {name: 'Log out'}).click();
    await page.getByText('weir ctl dashboard').waitFor();
    const second = await open();
    complaints.length = 0;
    await second.goto(made);
    await second.getByText('the link is used up').waitFor();
    assert.ok(complaints.every((text) => text.includes('403')), complaints.join('\n'));
    complaints.length = 0;
    const chinese = await open({locale: 'zh-CN'});
    await logIn(chinese);
    await chinese.getByRole('navigation').getByRole('link', {name: '名单'}).waitFor();
    assert.equal(await chinese.locator('html').getAttribute('lang'), 'zh-CN');
    await chinese.getByLabel('语言').selectOption('en');
    await view(chinese, 'Who is listed');
    await chinese.reload();
    await chinese.getByRole('heading', {name: 'Who is listed'}).waitFor();
  },

  // The hour over three replicas: what is done on one page is seen on the others, and in force on all.
  async fleet() {
    const [here, there, third] = replicas;
    const page = await open(), other = await open();
    await logIn(page, here.admin);
    await logIn(other, there.admin);
    for (let i = 0; i < 24; ++i) await login(ATTACKER, replicas[i % 3].port);
    for (let i = 0; i < 24; ++i) await login(VICTIM, replicas[i % 3].port);
    await view(other, 'Who is listed');
    await other.getByLabel('Search', {exact: true}).fill('203.0.113');
    await other.getByText('2 entries').waitFor();
    await other.getByRole('button', {name: `Forgive ${VICTIM}`}).click();
    await told(other, `${VICTIM} is forgiven`);
    const settles = async (ip, status) => {
      for (let tries = 0; tries < 100; ++tries) {
        const all = await Promise.all(replicas.filter((each) => !each.gone).map((each) => login(ip, each.port)));
        if (all.every((each) => each === status)) return;
        await page.waitForTimeout(50);
      }
      assert.fail(`${ip} is not answered ${status} by all`);
    };
    await settles(VICTIM, 401);
    await settles(ATTACKER, 403);

    // A threshold, and then silence, on all of them.
    await view(page, 'Policies');
    await page.getByRole('link', {name: POLICY}).click();
    await page.getByRole('spinbutton', {name: 'Threshold'}).fill('5');
    await page.getByRole('button', {name: 'Put in force'}).click();
    await told(page, 'it holds on 2 other replicas');
    const everywhere = async (member, wanted) => {
      for (const each of replicas) {
        for (let tries = 0; member(JSON.parse(ctlOf(each.admin, '-o', 'json', 'policy', POLICY))) !== wanted; ++tries) {
          if (tries === 100) assert.fail(`${wanted} is not in force on ${each.admin}`);
          await page.waitForTimeout(50);
        }
      }
    };
    await everywhere((policy) => policy.overrides[0]?.text, '1.over=5');
    await page.getByRole('button', {name: `Restore ${POLICY} now`}).click();
    await page.getByText('over 20: graylist').first().waitFor();
    await page.getByRole('button', {name: 'Silence', exact: true}).click();
    await told(page, `${POLICY}: shadow until`);
    await page.getByText('set for a while').or(page.getByRole('button', {name: `Restore ${POLICY} now`})).first().waitFor();
    await everywhere((policy) => policy.mode, 'shadow');
    await page.getByRole('button', {name: `Restore ${POLICY} now`}).click();
    await settles(ATTACKER, 403);

    // Who runs what; and one that does not answer.
    await view(page, 'System');
    const row = (each) => page.getByRole('row').filter({hasText: each.admin});
    // Each has a file of its own, under a path of its own: the fleet came to the last one's last.
    await row(third).getByText('in step').waitFor();
    await row(there).getByText('behind').waitFor();
    process.kill(third.pid, 'SIGTERM');
    third.gone = true;
    await row(third).getByText('does not answer').waitFor();
    await row(there).getByText('in step').waitFor();
    await page.getByText('connected to every worker').waitFor();
  },

  // A ban made on the page of one replica is seen on the pages of all, lifted on another, and is in the history of all.
  async ban() {
    const SCRAPER = '192.0.2.44';
    const pages = [];
    for (const each of replicas) {
      const page = await open();
      await logIn(page, each.admin);
      await view(page, 'Who is listed');
      await page.getByLabel('Search', {exact: true}).fill(SCRAPER);
      await page.getByText('No entry fits the search.').waitFor();
      await page.locator('h1').click();  // no focus in the table
      pages.push(page);
    }
    const answered = async (status) => {
      for (let tries = 0; ; ++tries) {
        const all = await Promise.all(replicas.map((each) => visit(SCRAPER, each.port)));
        if (all.every((each) => each === status)) return;
        assert.ok(tries < 100, `${SCRAPER} is answered ${all}, not ${status} by all`);
        await pages[0].waitForTimeout(50);
      }
    };
    await answered(200);
    await pages[0].getByRole('button', {name: 'Put a key on a list'}).click();
    const dialog = pages[0].getByRole('dialog');
    await dialog.getByLabel('List').selectOption('banned');
    await dialog.getByLabel('Key: ip').fill(SCRAPER);
    await dialog.getByLabel('Reason').fill('ticket 4712');
    await dialog.getByRole('button', {name: 'Put on the list'}).click();
    await told(pages[0], `${SCRAPER} is on banned until`);
    await answered(403);
    // Nobody touches the other pages: they follow.
    for (const page of pages) await page.getByRole('row').filter({hasText: SCRAPER}).filter({hasText: 'ticket 4712'}).waitFor();
    if (environment.BROWSER_LOOK) for (const [i, page] of pages.entries()) await page.screenshot({path: `${environment.BROWSER_LOOK}/ban-${i}.png`, fullPage: true});

    await pages[2].getByRole('button', {name: `Release ${SCRAPER}`}).click();
    await told(pages[2], `${SCRAPER} is released`);
    await answered(200);
    for (const page of pages) await page.getByText('No entry fits the search.').waitFor();
    // Taken back on the second: the release by the third.
    await pages[2].locator('.toast', {hasText: `${SCRAPER} is released`}).getByRole('button', {name: 'Undo'}).click();
    await told(pages[2], 'Undone: 1 restored, 0 removed.');
    await answered(403);
    for (const page of pages) await page.getByRole('row').filter({hasText: SCRAPER}).filter({hasText: 'ticket 4712'}).waitFor();
    for (const [i, page] of pages.entries()) {
      await view(page, 'History');
      const audit = page.locator('section', {hasText: 'Who changed what'});
      for (const action of ['list.add', 'list.remove'])
        await audit.getByRole('row').filter({hasText: action}).filter({hasText: SCRAPER}).filter({hasText: 'session'}).first().waitFor().catch(() => assert.fail(`page ${i} does not say ${action}`));
      if (environment.BROWSER_LOOK) await page.screenshot({path: `${environment.BROWSER_LOOK}/ban-history-${i}.png`, fullPage: true});
    }
  },

  // Who wants to know what is going on: the charts of views say what the API says of them, bar by bar; and what a load has changed.
  async views() {
    const page = await open();
    await logIn(page);
    const cookies = await page.context().cookies();
    const api = (path) => page.evaluate(async (where) => (await fetch(where)).json(), path);
    const grouped = (value) => new Intl.NumberFormat('en-US').format(value);
    for (const [width, height, locale] of [[1280, 900, 'en-US'], [320, 640, 'en-US'], [1280, 900, 'zh-CN']]) {
      const one = await open({viewport: {width, height}, locale}, cookies);
      await one.goto(`${base}#/views`);
      for (const {name, by} of (await api('/v1/views')).views) {
        const card = one.locator('section').filter({has: one.getByRole('heading', {name, exact: true})});
        const shown = async () => card.evaluate((section) => ({
          total: section.querySelector('.big').firstChild.textContent,
          bars: [...section.querySelectorAll('ol.bars li')].map((each) => [each.querySelector('.what').textContent, each.querySelector('.number').textContent, Number(each.querySelector('rect').getAttribute('width'))]),
          columns: [...section.querySelectorAll('rect.column')].map((each) => [each.querySelector('title').textContent.split(': ').pop(), Number(each.getAttribute('height'))]),
        }));
        await card.locator('.big').waitFor();
        // The page asks every five seconds: it shows an answer from between two of ours, once nothing happens any more.
        for (let tries = 0; ; ++tries) {
          const answer = await api(`/v1/views/${name}?windows=30`);
          const windows = [...answer.windows, ...(answer.running ? [answer.running] : [])];
          const last = windows[windows.length - 1], totals = windows.map((each) => Number(each.total));
          const rows = by.length ? last.rows.slice(0, 10) : [];
          const most = Math.max(1, ...rows.map((row) => Number(row[row.length - 1])));
          // Windows without anything come and go at both ends, while the page is five seconds behind.
          const middle = (all) => all.join(' ').replace(/^(0 )+/, '').replace(/( 0)+$/, '');
          const wanted = {total: grouped(last.total), bars: rows.map((row) => [row.slice(0, -1).join(', '), grouped(row[row.length - 1]), (Number(row[row.length - 1]) / most) * 100]),
            columns: windows.length > 1 ? totals.map(grouped) : []};
          const seen = await shown();
          try {
            assert.equal(seen.total, wanted.total, name);
            assert.deepEqual(seen.bars.map((each) => each.slice(0, 2)), wanted.bars.map((each) => each.slice(0, 2)), name);
            seen.bars.forEach((each, i) => assert.ok(Math.abs(each[2] - wanted.bars[i][2]) < 0.5, `${name}: the bar of ${each[0]} is ${each[2]} % wide`));
            assert.equal(middle(seen.columns.map((each) => each[0])), middle(wanted.columns), name);
            const highest = seen.columns.map((each) => each[1]).indexOf(Math.max(...seen.columns.map((each) => each[1])));
            if (by.length === 0) assert.equal(seen.columns[highest][0], grouped(Math.max(...totals)), `${name}: the highest column`);
            if (by.length === 0) assert.ok(middle(wanted.columns).split(' ').length >= 4, `${name}: some windows`);
            if (name === 'hot-items') assert.equal(seen.bars[0][0], 'sku-1', 'what was looked at most comes first');
            break;
          } catch (problem) {
            if (tries === 150) throw problem;
            await one.waitForTimeout(100);
          }
        }
      }
      const excess = await one.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      assert.ok(excess <= 0, `${excess} px too wide at ${width}`);
      if (environment.BROWSER_LOOK) await one.screenshot({path: `${environment.BROWSER_LOOK}/views-${width}-${locale}.png`, fullPage: true});
      await one.context().close();
    }

    // A load that changes one line, and one that is refused.
    const file = environment.WEIR_CONFIG, text = readFileSync(file, 'utf8');
    await view(page, 'History');
    const loads = page.locator('section', {hasText: 'Loads of the configuration'});
    const again = page.getByRole('button', {name: 'Load the files again'});
    writeFileSync(file, text.replace('{over: 400, do: deny}', '{over: 401, do: deny}'));
    await again.click();
    await told(page, 'The configuration was loaded.');
    const newest = loads.locator('article').first();
    // weir watches its files: whichever load came first has the difference.
    const changed = loads.locator('article').filter({has: page.locator('summary')}).first();
    await changed.getByText('in force').waitFor();
    await changed.locator('summary').click();
    const diff = changed.locator('pre');
    assert.deepEqual(await diff.locator('.minus').allTextContents(), ['-    then: [{over: 400, do: deny}]\n']);
    assert.deepEqual(await diff.locator('.plus').allTextContents(), ['+    then: [{over: 401, do: deny}]\n']);
    assert.match(await diff.locator('.place').first().textContent(), /^@@ /);
    const load = (await api('/v1/reloads')).reloads.find((each) => each.diffs.length);
    assert.equal(await diff.textContent(), `${load.diffs[0].diff}\n`, 'the page shows all of it');
    if (environment.BROWSER_LOOK) await loads.screenshot({path: `${environment.BROWSER_LOOK}/diff-1280.png`});
    await page.setViewportSize({width: 320, height: 640});
    assert.ok(await diff.isVisible(), 'what was opened stays open');
    if (environment.BROWSER_LOOK) await page.screenshot({path: `${environment.BROWSER_LOOK}/diff-320.png`, fullPage: true});
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= document.documentElement.clientWidth), 'the lines scroll within their box');
    await page.setViewportSize({width: 1280, height: 900});
    writeFileSync(file, text.replace('{over: 400, do: deny}', '{over: 402, dooo: deny}'));
    complaints.length = 0;
    await again.click();
    await newest.getByText('refused').waitFor();
    await newest.getByText('dooo').first().waitFor();
    complaints.length = 0;  // 422
    writeFileSync(file, text);
    await again.click();
    await newest.getByText('in force').waitFor();
  },

  // Who keeps thresholds: a limit is found, changed with a reason, seen in the history, and taken back, by keys alone.
  async tables() {
    const page = await open();
    await logIn(page);
    await view(page, 'Tables');
    await page.getByRole('link', {name: 'gold_limit'}).click();
    const limit = page.getByRole('textbox', {name: 'Limit of baidu,android'});
    await limit.focus();
    assert.equal(await limit.inputValue(), '3000');
    await limit.fill('much');
    await page.keyboard.press('Tab');
    assert.match(await limit.evaluate((each) => each.validationMessage), /a number/);
    await limit.fill('4000');
    await page.keyboard.press('Tab');
    await page.getByText('1 limit changes: baidu,android: 3,000 → 4,000').waitFor();
    const send = page.getByRole('button', {name: 'Put in force'});
    await send.click();
    assert.equal(asked('table', 'gold_limit').values.baidu.android, 3000, 'without a reason nothing is sent');
    await page.getByRole('textbox', {name: 'Reason'}).fill('ticket 4711');
    await page.getByRole('textbox', {name: 'Your name'}).fill('ann');
    await page.getByLabel('Key, with commas').fill('douyin,ios');
    await page.getByLabel('Limit', {exact: true}).fill('700');
    await page.getByRole('button', {name: 'Add'}).press('Enter');
    await page.getByText('2 limits change').waitFor();
    await send.press('Enter');
    await told(page, 'The change is in force.');
    assert.deepEqual(asked('table', 'gold_limit').values, {baidu: {android: 4000, ios: 2500}, douyin: {ios: 700}, '*': 1500});
    const row = page.getByRole('row').filter({hasText: 'ticket 4711'}).filter({hasText: 'ann'});
    await row.getByText('in force').waitFor();
    // What somebody else does in the meantime is seen.
    ctl('table', 'gold_limit', 'set', '*=10', '--by', 'bob', '--reason', 'from the command line');
    await page.getByRole('row').filter({hasText: 'from the command line'}).waitFor();
    await row.getByRole('button', {name: 'Take back change 1'}).press('Enter');
    await page.getByRole('dialog').getByLabel('Reason').fill('a mistake');
    await page.getByRole('dialog').getByRole('button', {name: 'Take back'}).press('Enter');
    await told(page, 'Change 1 is taken back.');
    assert.deepEqual(asked('table', 'gold_limit').values, {baidu: {android: 3000, ios: 2500}, '*': 10});
  },

  // With a second person: one asks, another approves or rejects.
  async approval() {
    const page = await open();
    await logIn(page);
    await page.goto(`${base}#/tables/gold_limit`);
    const ask = async (limit, reason) => {
      await page.getByRole('textbox', {name: 'Limit of *'}).fill(limit);
      await page.getByRole('textbox', {name: 'Reason'}).fill(reason);
      await page.getByRole('textbox', {name: 'Your name'}).fill('ann');
      await page.getByRole('button', {name: 'Ask for approval'}).click();
      await told(page, 'The change waits for somebody else.');
    };
    const decide = async (word, id, name) => {
      await page.getByRole('button', {name: `${word} change ${id}`}).click();
      await page.getByRole('dialog').getByLabel('Your name').fill(name);
      await page.getByRole('dialog').getByRole('button', {name: word, exact: true}).click();
    };
    await ask('10', 'too many');
    complaints.length = 0;
    await decide('Approve', 1, 'ann');
    await told(page, 'somebody else than ann must approve it');
    assert.ok(complaints.every((text) => text.includes('403')), complaints.join('\n'));
    complaints.length = 0;
    await decide('Approve', 1, 'bob');
    await told(page, 'The change is in force.');
    assert.equal(asked('table', 'gold_limit').values['*'], 10);
    await ask('20', 'more again');
    await decide('Reject', 2, 'bob');
    await told(page, 'The change is rejected.');
    await page.getByText('rejected', {exact: true}).waitFor();
    assert.equal(asked('table', 'gold_limit').values['*'], 10);
  },

  // Two people with links of their own: neither can approve under the other's name.
  async named() {
    const come = async (name) => {
      const page = await open();
      await page.goto(ctl('dashboard', '--as', name).split('\n')[0]);
      await page.getByRole('navigation').waitFor();
      await page.goto(`${base}#/tables/gold_limit`);
      await page.getByRole('heading', {name: 'gold_limit'}).waitFor();
      return page;
    };
    const ann = await come('ann'), bob = await come('bob');
    const name = ann.getByRole('textbox', {name: 'Your name'});
    assert.equal(await name.inputValue(), 'ann');
    assert.equal(await name.getAttribute('readonly'), '');
    await ann.getByRole('textbox', {name: 'Limit of *'}).fill('10');
    await ann.getByRole('textbox', {name: 'Reason'}).fill('too many');
    await ann.getByRole('button', {name: 'Ask for approval'}).click();
    await told(ann, 'The change waits for somebody else.');
    await ann.getByRole('button', {name: 'Approve change 1'}).click();
    assert.equal(await ann.getByRole('dialog').getByLabel('Your name').inputValue(), 'ann');
    await ann.getByRole('dialog').getByRole('button', {name: 'Approve', exact: true}).click();
    await told(ann, 'somebody else than ann must approve it');
    complaints.length = 0;  // 403
    const forged = await ann.evaluate(async () => (await fetch('/v1/tables/gold_limit/approve', {method: 'POST', headers: {'Content-Type': 'application/json'}, body: '{"change": "1", "by": "bob"}'})).status);
    assert.equal(forged, 403, 'the page cannot say that it is bob');
    complaints.length = 0;
    await bob.reload();
    await bob.getByRole('button', {name: 'Approve change 1'}).click();
    await bob.getByRole('dialog').getByRole('button', {name: 'Approve', exact: true}).click();
    await told(bob, 'The change is in force.');
    assert.equal(asked('table', 'gold_limit').values['*'], 10);
    await view(ann, 'System');
    await ann.getByText('The session is of ann.').waitFor();
  },

  // Thresholds of a table at the readings of a policy, and at a key; entries of files, by the whole key.
  async limits() {
    const page = await open();
    await logIn(page);
    await page.goto(`${base}#/policies/gold-per-user`);
    const row = page.getByRole('row').filter({hasText: 'baidu,ios'});
    await row.getByText('2,500').waitFor();
    assert.equal(await row.getByRole('cell').last().textContent(), '2', 'bob and eve have more');
    assert.equal(await page.locator('.mark.of-table').count(), 3);
    const plot = await page.locator('.histogram').boundingBox();
    for (const flag of await page.locator('.mark .flag').all()) {
      const box = await flag.boundingBox();
      assert.ok(box.x >= plot.x && box.x + box.width <= plot.x + plot.width + 1, 'a limit is named within the picture');
    }
    await page.getByRole('link', {name: 'Change the limit 3,000'}).click();
    await page.getByRole('textbox', {name: 'Limit of baidu,android'}).waitFor();

    await page.goto(`${base}#/find?key=bob`);
    await page.getByText('the sum stands at 3000; gold_limit has 1500 to 3000 by shop, os: the next reward may be refused, by its own limit').waitFor();
    await page.getByRole('link', {name: 'table gold_limit'}).click();
    await page.getByRole('heading', {name: 'gold_limit'}).waitFor();

    await view(page, 'Who is listed');
    const search = page.getByLabel('Search', {exact: true});
    await page.getByText('3 entries of files and URLs are not searched').waitFor();
    await search.fill('198.51.100.5');
    await page.getByRole('row').filter({hasText: '198.51.100.0/24'}).getByText('in a file or URL').waitFor();
    await search.fill('alice');
    await page.getByText('No entry fits the search.').waitFor();
    await page.getByRole('link', {name: 'Look up the key alice'}).click();
    await page.getByText('alice is on no list that could be searched').waitFor();
    await page.getByText(/1 entry of .*pairs\.csv, on the list pairs, is found by the whole key only: user, ip/).waitFor();
    await page.goBack();
    await search.fill('alice, 192.0.2.77');
    await page.getByText('1 entry', {exact: true}).waitFor();

    // A network: what covers it, is equal to it or lies in it; also from the field at the top, and by a click.
    for (const network of ['198.51.100.0/24', '198.51.100.64/26', '198.51.0.0/16']) {
      await search.fill(network);
      await page.getByText('1 entry', {exact: true}).waitFor();
      await page.getByRole('row').filter({hasText: '198.51.100.0/24'}).getByText('in a file or URL').waitFor();
    }
    await page.getByRole('searchbox', {name: 'Find a key'}).fill('192.0.2.64/26');
    await page.keyboard.press('Enter');
    await page.getByRole('row').filter({hasText: '192.0.2.66'}).getByText('in a file or URL').waitFor();
    assert.equal(await search.inputValue(), '192.0.2.64/26');
    await page.getByRole('link', {name: '192.0.2.66', exact: true}).click();
    await page.getByText('192.0.2.66 is listed').waitFor();

    // A key of two parts, one of them with a comma: put on a list, found by its text, taken off.
    await view(page, 'Who is listed');
    await page.getByRole('button', {name: 'Put a key on a list'}).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('List').selectOption('pairs');
    await dialog.getByLabel('Key: user').fill('Doe, Jane');
    await dialog.getByLabel('Key: ip').fill('192.0.2.9');
    await dialog.getByRole('button', {name: 'Put on the list'}).click();
    await told(page, '"Doe, Jane", 192.0.2.9 is on pairs until');
    await search.fill('"Doe, Jane", 192.0.2.9');
    await page.getByText('1 entry', {exact: true}).waitFor();
    await page.getByRole('link', {name: '"Doe, Jane", 192.0.2.9', exact: true}).click();
    await page.getByText('"Doe, Jane", 192.0.2.9 is listed').waitFor();
    assert.equal(await page.getByLabel('Key; commas between several parts').inputValue(), '"Doe, Jane", 192.0.2.9');
    await page.getByRole('button', {name: 'Look up'}).click();
    await page.getByRole('button', {name: 'Release "Doe, Jane", 192.0.2.9'}).click();
    await told(page, '"Doe, Jane", 192.0.2.9 is released');
  },

  // Everybody: the way back, a reload and a copied link lead to what was seen; what goes wrong is said where it happens.
  async ways() {
    for (const user of ['alice', 'bob']) ctl('list', 'watched_users', user, '--add', '--for', '1h');
    const page = await open({timezoneId: 'Asia/Shanghai'});
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await logIn(page);
    const search = page.getByLabel('Search', {exact: true});
    await view(page, 'Who is listed');
    await page.getByLabel('List', {exact: true}).selectOption('watched_users');
    await search.fill('ali');
    await page.getByText('1 entry').waitFor();
    assert.equal(new URL(page.url()).hash, '#/listed?search=ali&list=watched_users');
    await page.getByRole('link', {name: 'alice'}).click();
    await page.getByText('alice is listed').waitFor();
    await page.goBack();
    await page.getByText('1 entry').waitFor();
    assert.equal(await search.inputValue(), 'ali');
    await page.reload();
    await page.getByText('1 entry').waitFor();
    assert.equal(await page.getByLabel('List', {exact: true}).inputValue(), 'watched_users');
    await view(page, 'Policies');
    await search.fill('gold');
    await page.getByText('1 policy').waitFor();
    await page.getByRole('link', {name: 'gold-per-user', exact: true}).click();
    await page.getByRole('heading', {name: 'gold-per-user'}).waitFor();
    await page.goBack();
    await page.getByText('1 policy').waitFor();

    // A key as it was copied, blanks around it; and one that is none, which may be mended.
    await page.getByRole('searchbox', {name: 'Find a key'}).fill(`  ${VICTIM} `);
    await page.keyboard.press('Enter');
    await page.getByText(`${VICTIM} is on no list`).waitFor();
    await view(page, 'Who is listed');
    await page.getByRole('button', {name: 'Put a key on a list'}).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('List').selectOption('banned');
    await dialog.getByLabel('Key: ip').fill(' 192.0.2 ');
    await dialog.getByLabel('Reason').fill('scraping');
    await dialog.getByRole('button', {name: 'Put on the list'}).click();
    await dialog.getByRole('alert').getByText('is an IP address').waitFor();
    assert.equal(await dialog.getByLabel('Reason').inputValue(), 'scraping');
    await dialog.getByLabel('Key: ip').fill(' 192.0.2.7 ');
    await dialog.getByRole('button', {name: 'Put on the list'}).click();
    await told(page, '192.0.2.7 is on banned until');
    assert.equal(asked('list', 'banned', '192.0.2.7').listed, true);
    assert.ok(complaints.every((text) => text.includes('400')), complaints.join('\n'));
    complaints.length = 0;

    // Links to what is not there.
    await page.goto(`${base}#/tables/nosuch`);
    await page.getByText('There is no such table.').waitFor();
    await page.goto(`${base}#/policies/nosuch`);
    await page.getByText('There is no such policy.').waitFor();
    complaints.length = 0;  // 404

    // The line of the file is copied, and its rungs are within the picture.
    await page.goto(`${base}#/policies/requests-per-ip`);
    await page.getByRole('spinbutton', {name: 'Threshold'}).fill('300');
    await page.getByRole('button', {name: 'Copy the line'}).click();
    await told(page, 'Copied.');
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), 'then: [{over: 300, do: deny}]');
    const flag = await page.locator('.mark .flag').first().boundingBox(), plot = await page.locator('.histogram').boundingBox();
    assert.ok(flag.x >= plot.x && flag.x + flag.width <= plot.x + plot.width + 1, 'the rung of 400 is named within the picture');

    // The zone of the times, and the place in the row of views where that is wider than the screen.
    await view(page, 'System');
    await page.getByText('Times on this page are those of Asia/Shanghai, UTC+08:00.').waitFor();
    await page.setViewportSize({width: 320, height: 640});
    await page.goto(`${base}#/history`);
    await page.getByText('Who changed what').first().waitFor();
    const here = await page.getByRole('navigation').getByRole('link', {name: 'History'}).boundingBox();
    assert.ok(here.x >= 0 && here.x + here.width <= 320, 'the view in the row of views is in sight');

    // The session ends: that is said, and a new link leads back to the place.
    await page.setViewportSize({width: 1280, height: 900});
    await page.goto(`${base}#/policies/${POLICY}`);
    await page.getByRole('button', {name: 'Read again'}).waitFor();
    await page.context().clearCookies();
    await page.getByRole('button', {name: 'Read again'}).click();
    await page.getByRole('alert').getByText('The session has ended.').waitFor();
    await page.getByLabel('The link, or its code').fill(link());
    await page.keyboard.press('Enter');
    await page.getByRole('heading', {name: POLICY}).waitFor();
    assert.equal(new URL(page.url()).hash, `#/policies/${POLICY}`);
  },

  // weir goes away under an open page, and comes back: said once, and forgotten then.
  async away() {
    const page = await open();
    await logIn(page);
    await view(page, 'System');
    await page.getByRole('heading', {name: 'This replica'}).waitFor();
    let asked = 0;
    page.on('requestfailed', () => { ++asked; });
    await page.context().setOffline(true);
    await page.getByText('weir does not answer').waitFor();
    const before = asked;
    while (asked < before + 4) await page.waitForTimeout(100);  // it goes on asking
    assert.equal(await page.getByText('weir does not answer').count(), 1);
    await page.context().setOffline(false);
    await page.getByText('weir does not answer').waitFor({state: 'detached'});
    complaints.length = 0;  // of the browser, about the network
  },

  // Everybody: no finding of axe in any view, light or dark, in either language; nothing is too wide for its screen.
  async access() {
    await logins(ATTACKER, 60);
    const first = await open();
    await logIn(first);
    await first.keyboard.press('Tab');
    assert.equal(await first.evaluate(() => document.activeElement.className), 'skip');
    await first.keyboard.press('Enter');
    assert.equal(await first.evaluate(() => document.activeElement.id), 'main');
    const cookies = await first.context().cookies();
    const views = ['#/now', '#/listed', `#/find?key=${ATTACKER}`, '#/policies', `#/policies/${POLICY}`, '#/tables', '#/tables/gold_limit', '#/views', '#/explain', '#/history', '#/system'];
    const findings = [];
    for (const [width, colorScheme, locale] of [[1280, 'light', 'en-US'], [1280, 'dark', 'zh-CN'], [320, 'dark', 'en-US'], [3840, 'light', 'zh-CN']]) {
      const page = await open({viewport: {width, height: width === 320 ? 640 : 900}, colorScheme, locale}, cookies);
      for (const each of views) {
        await page.goto(base + each);
        await page.getByRole('heading', {level: 1}).waitFor();
        await logins(ATTACKER, 3);
        await page.waitForLoadState('networkidle', {timeout: 500}).catch(() => {});  // the live feed never ends
        await page.evaluate(axeSource);
        const result = await page.evaluate(() => window.axe.run(document, {resultTypes: ['violations']}));
        for (const one of result.violations) findings.push(`${each} ${width} ${colorScheme} ${locale}: ${one.id}: ${one.help}: ${one.nodes.map((node) => node.html).slice(0, 3).join(' | ')}`);
        const excess = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
        if (excess > 0) findings.push(`${each} at ${width} px: ${excess} px too wide`);
      }
      await page.context().close();
    }
    // The dialog and what is said below are looked at, too.
    await first.goto(`${base}#/listed`);
    await first.getByRole('button', {name: `Release ${ATTACKER}`}).first().click();
    await first.getByRole('button', {name: 'Put a key on a list'}).click();
    await first.evaluate(axeSource);
    const result = await first.evaluate(() => window.axe.run(document, {resultTypes: ['violations']}));
    for (const one of result.violations) findings.push(`dialog: ${one.id}: ${one.help}: ${one.nodes.map((node) => node.html).slice(0, 3).join(' | ')}`);
    assert.deepEqual(findings, []);
  },
};

let code = 0;
try {
  await JOBS[process.argv[2]]();
  assert.deepEqual(complaints, []);
} catch (problem) {
  console.error(problem.stack);
  for (const [i, context] of browser.contexts().entries()) {
    for (const page of context.pages()) {
      if (environment.BROWSER_PICTURES) await page.screenshot({path: `${environment.BROWSER_PICTURES}/${process.argv[2]}-${i}.png`, fullPage: true});
    }
  }
  if (complaints.length) console.error('the page said:', complaints.join('\n'));
  code = 1;
}
await browser.close();
process.exit(code);
