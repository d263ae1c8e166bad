import {locale, t} from './words.js';

const cache = new Map();
function formatter(kind, options) {
  const key = `${kind} ${locale()} ${JSON.stringify(options)}`;
  if (!cache.has(key)) cache.set(key, new Intl[kind](locale(), options));
  return cache.get(key);
}

export const number = (value) => (typeof value === 'number' ? formatter('NumberFormat', {maximumFractionDigits: 3}).format(value) : String(value ?? '–'));
export const short = (value) => formatter('NumberFormat', {notation: 'compact', maximumFractionDigits: 1}).format(value);
export const percent = (value) => formatter('NumberFormat', {style: 'percent', maximumFractionDigits: 1}).format(value);

export function bytes(value) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let i = 0;
  for (; value >= 1024 && i < units.length - 1; ++i) value /= 1024;
  return `${number(Math.round(value * 10) / 10)} ${units[i]}`;
}

/** `14:03:07`; with the date where it is not today. */
export function clock(time) {
  if (time === null || time === undefined) return t('never');
  const at = new Date(time);
  const today = new Date().toDateString() === at.toDateString();
  const options = {hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23'};
  return formatter('DateTimeFormat', today ? options : {month: 'short', day: 'numeric', ...options}).format(at);
}

/** The zone of clock(): `Asia/Shanghai, UTC+8` */
export function zone() {
  const part = new Intl.DateTimeFormat('en-GB', {timeZoneName: 'longOffset'}).formatToParts().find((each) => each.type === 'timeZoneName');
  return `${Intl.DateTimeFormat().resolvedOptions().timeZone}, ${(part ? part.value : '').replace('GMT', 'UTC')}`;
}

/** A cell of a table: the reader's time, and as logs have it. */
export const when = (time) => ({of: clock(time), class: 'time', title: time === null || time === undefined ? null : new Date(time).toISOString()});

/** `2 h 5 min` */
export function span(seconds) {
  if (seconds === null || seconds === undefined) return t('forever');
  const left = Math.max(0, Math.round(seconds));
  const days = Math.floor(left / 86400), hours = Math.floor(left / 3600) % 24, minutes = Math.floor(left / 60) % 60;
  if (days > 0) return t('{d} d {h} h', {d: days, h: hours});
  if (hours > 0) return t('{h} h {m} min', {h: hours, m: minutes});
  if (minutes > 0) return t('{m} min {s} s', {m: minutes, s: left % 60});
  return t('{s} s', {s: left});
}

// Keys as one text, and back: the rule of core/chars/key_text.h.
const QUOTED = /^$|,|^["(]|^[ \t\r\n]|[ \t\r\n]$/;

/** `alice, 192.0.2.7`: a part that a reader could take for something else is in quotes. */
export const keyText = (key) => (key.length ? key.map((part) => (QUOTED.test(part) ? `"${part.replaceAll('"', '""')}"` : part)).join(', ') : t('everybody'));

/** The parts of such a text; none where nothing is written. */
export function keyParts(text) {
  const parts = [];
  const part = /[ \t\r\n]*(?:"((?:[^"]|"")*)"[ \t\r\n]*(?=,|$)|([^,]*))(,|$)/y;
  if (!text.trim()) return parts;
  for (let found; (found = part.exec(text)) !== null;) {
    parts.push(found[1] === undefined ? found[2].replace(/[ \t\r\n]+$/, '') : found[1].replaceAll('""', '"'));
    if (!found[3]) break;
  }
  return parts;
}
