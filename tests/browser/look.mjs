// Pictures of the dashboard, for a person to look at: look.mjs LINK DIRECTORY [VIEW...]
// At 320 px, 1280 px and 3840 px, light and dark, English and Chinese in turn.
import {createRequire} from 'node:module';
import {mkdirSync} from 'node:fs';

const require = createRequire(new URL('../../build/browser/', import.meta.url));
const {chromium} = require('playwright-core');
const [link, directory, ...wanted] = process.argv.slice(2);
const VIEWS = {
  now: '#/now', listed: '#/listed', find: '#/find?key=203.0.113.9', policies: '#/policies', policy: '#/policies/login-per-ip',
  tables: '#/tables', table: '#/tables/gold_limit', views: '#/views', explain: '#/explain', history: '#/history', system: '#/system',
};
const SIZES = [[1280, 900, 'light', 'en'], [1280, 900, 'dark', 'zh'], [320, 640, 'light', 'en'], [3840, 2160, 'dark', 'en']];

mkdirSync(directory, {recursive: true});
const browser = await chromium.launch({executablePath: process.env.CHROMIUM || '/usr/bin/chromium', args: ['--no-sandbox']});
const first = await browser.newContext();
const page = await first.newPage();
page.on('console', (message) => { if (message.type() === 'error') console.log(`console: ${message.text()}`); });
page.on('pageerror', (error) => console.log(`error: ${error.stack}`));
await page.goto(link);
await page.waitForSelector('nav', {timeout: 10_000});
const cookies = await first.cookies();
for (const [width, height, colorScheme, language] of SIZES) {
  const context = await browser.newContext({viewport: {width, height}, colorScheme, locale: language === 'zh' ? 'zh-CN' : 'en-US'});
  await context.addCookies(cookies);
  const view = await context.newPage();
  view.on('pageerror', (error) => console.log(`error: ${error.stack}`));
  const base = link.split('#')[0];
  for (const name of wanted.length ? wanted : Object.keys(VIEWS)) {
    await view.goto(base + VIEWS[name]);
    await view.waitForSelector('h1');
    await view.waitForTimeout(name === 'now' ? 2500 : 700);
    if (name === 'explain') { await view.locator('main form button[type=submit]').click(); await view.waitForSelector('pre'); }
    const wide = await view.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    if (wide > 0) console.log(`${name} ${width}: ${wide} px too wide`);
    await view.screenshot({path: `${directory}/${name}-${width}-${colorScheme}.png`, fullPage: width < 3840});
  }
  await context.close();
}
await browser.close();
