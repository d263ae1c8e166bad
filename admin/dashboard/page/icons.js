import {s} from './dom.js';

// Strokes on a grid of 20.
const PATHS = {
  now: 'M2 11h4l2-7 4 12 2-5h4',
  listed: 'M3 5h14M3 10h14M3 15h9',
  policies: 'M4 16V9M10 16V4M16 16v-5',
  tables: 'M3 4h14v12H3zM3 8h14M3 12h14M9 4v12',
  views: 'M3 16h14M5 13l4-5 3 3 4-6',
  explain: 'M7 7a3 3 0 1 1 4.2 2.7c-.8.4-1.2 1-1.2 2V13M10 16v.5',
  history: 'M4 10a6 6 0 1 0 2-4.5M4 3v3.5h3.5M10 7v3.5l2.5 1.5',
  system: 'M4 4h12v5H4zM4 11h12v5H4zM7 6.5h.5M7 13.5h.5',
  search: 'M9 3a6 6 0 1 0 0 12A6 6 0 0 0 9 3M13.5 13.5 18 18',
};

export const icon = (name) => s('svg', {viewBox: '0 0 20 20', class: 'icon', 'aria-hidden': 'true'}, s('path', {d: PATHS[name]}));
