// Charts as SVG: sharp at any size, in the colours of the style sheet, readable without a mouse.

import {h, s} from './dom.js';
import {number, short} from './format.js';
import {t} from './words.js';

/** A number of the form 1, 2 or 5 times a power of ten, at `value` or above. */
export function nice(value) {
  if (value <= 1) return 1;
  const scale = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((step) => step * scale).find((each) => each >= value);
}

/**
 * Stacked areas over time. `rows`: [{at, values: [..]}], oldest first; `series`: [{name, class}].
 * What it says to who cannot see it is `label`.
 */
export function timeline(rows, series, label, seconds) {
  const width = 1000, height = 160, foot = 18, side = 0;
  const plot = height - foot;
  const end = rows.length ? rows[rows.length - 1].at : 0;
  const begin = end - seconds * 1000;
  const seen = rows.filter((row) => row.at >= begin);
  const top = nice(Math.max(1, ...seen.map((row) => row.values.reduce((a, b) => a + b, 0))));
  const x = (at) => side + ((at - begin) / (end - begin || 1)) * (width - side);
  const y = (value) => plot - (value / top) * (plot - 8);
  const base = seen.map(() => 0);
  const areas = series.map((one, index) => {
    const upper = seen.map((row, i) => [x(row.at), y(base[i] + row.values[index])]);
    const lower = seen.map((row, i) => [x(row.at), y(base[i])]).reverse();
    seen.forEach((row, i) => { base[i] += row.values[index]; });
    const points = [...upper, ...lower].map(([a, b]) => `${a.toFixed(1)},${b.toFixed(1)}`).join(' ');
    return s('polygon', {points, class: `area ${one.class}`});
  });
  const lines = [1, 0.5].map((part) => s('line', {x1: 0, x2: width, y1: y(top * part), y2: y(top * part), class: 'gridline'}));
  return h('div', {class: 'chart', role: 'img', 'aria-label': label},
    s('svg', {viewBox: `0 0 ${width} ${plot}`, preserveAspectRatio: 'none', 'aria-hidden': 'true', class: 'plot'}, lines, areas,
      s('line', {x1: 0, x2: width, y1: plot - 0.5, y2: plot - 0.5, class: 'axis'})),
    h('span', {class: 'scale top', 'aria-hidden': 'true'}, short(top)),
    h('span', {class: 'scale half', 'aria-hidden': 'true'}, short(top / 2)),
    h('div', {class: 'ticks', 'aria-hidden': 'true'}, [1, 0.75, 0.5, 0.25, 0].map((part) => h('span', {}, part === 0 ? '0' : t('−{n} min', {n: number((seconds * part) / 60)})))));
}

/** Bars from left to right, one above the other: [{label, value, title, href}]. */
export function bars(rows, label) {
  const most = Math.max(1, ...rows.map((row) => row.value));
  return h('ol', {class: 'bars', 'aria-label': label}, rows.map((row) => {
    const bar = s('svg', {class: 'bar', viewBox: '0 0 100 10', preserveAspectRatio: 'none', 'aria-hidden': 'true'},
      s('rect', {width: Math.max(0.4, (Math.max(0, row.value) / most) * 100), height: 10}));
    return h('li', {}, h('span', {class: 'what', title: row.label}, row.href ? h('a', {href: row.href}, row.label) : row.label), bar, h('span', {class: 'number'}, number(row.value)));
  }));
}

/** Columns side by side: [{label, value}]. */
export function columns(rows, label) {
  const most = nice(Math.max(1, ...rows.map((row) => row.value)));
  const wide = 1000 / Math.max(rows.length, 1);
  return h('div', {class: 'chart small', role: 'img', 'aria-label': label},
    s('svg', {viewBox: '0 0 1000 120', preserveAspectRatio: 'none', 'aria-hidden': 'true', class: 'plot'},
      rows.map((row, i) => s('rect', {x: i * wide + wide * 0.1, width: wide * 0.8, y: 120 - (row.value / most) * 112, height: (row.value / most) * 112, class: 'column'}, s('title', {}, `${row.label}: ${number(row.value)}`))),
      s('line', {x1: 0, x2: 1000, y1: 119.5, y2: 119.5, class: 'axis'})),
    h('span', {class: 'scale top', 'aria-hidden': 'true'}, short(most)),
    rows.length ? h('div', {class: 'ticks', 'aria-hidden': 'true'}, h('span', {}, rows[0].label), h('span', {}, rows[rows.length - 1].label)) : null);
}

/** Where a reading is on the axis of a histogram, from 0 to 1: by its logarithm once they differ widely. */
export class Axis {
  constructor(most, log) {
    this.most = Math.max(most, 1);
    this.log = log;
  }

  static over(bins, thresholds) {
    const most = Math.max(10, ...bins.map((bin) => bin[1]), ...thresholds) * 1.1;
    return new Axis(most, most > 200);
  }

  place(value) {
    const at = Math.max(0, Math.min(value, this.most));
    return this.log ? Math.log1p(at) / Math.log1p(this.most) : at / this.most;
  }

  value(place) {
    const at = Math.max(0, Math.min(place, 1));
    return this.log ? Math.expm1(at * Math.log1p(this.most)) : at * this.most;
  }

  ticks() {
    const out = [];
    if (this.log) for (let v = 1; v < this.most; v *= 10) out.push(v);
    else for (let step = nice(this.most / 6), v = 0; v < this.most; v += step) out.push(v);
    return out;
  }
}

/** How many keys read more than the threshold (`over`), as much (`at`), or less (`under`). */
export function keysHit(bins, compare, threshold) {
  let keys = 0;
  for (const [from, to, n] of bins) {
    // A bar of one whole number reads `from`; a wider one is taken in part.
    const whole = to - from <= 1.000001;
    if (compare === 'under') {
      if (whole ? from < threshold : to <= threshold) keys += n;
      else if (!whole && from < threshold) keys += (n * (threshold - from)) / (to - from);
    } else if (whole ? (compare === 'at' ? from >= threshold : from > threshold) : from >= threshold) {
      keys += n;
    } else if (!whole && to > threshold) {
      keys += (n * (to - threshold)) / (to - from);
    }
  }
  return Math.round(keys);
}
