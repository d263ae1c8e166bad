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

export const keyText = (key) => key.join(', ');
