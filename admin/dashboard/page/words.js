// The page's words: English is the key, Chinese is beside it. What weir itself says (reasons, explanations,
// problems of the configuration) comes from its API and is English.

import {CHINESE} from './words_zh.js';

export const LANGUAGES = [['en', 'English'], ['zh', '中文']];
let chosen = 'en';

export const language = () => chosen;
export const locale = () => (chosen === 'zh' ? 'zh-CN' : 'en-GB');
export function setLanguage(name) { chosen = name === 'zh' ? 'zh' : 'en'; }

/** Effects and modes have words; other names stay what they are. */
export const has = (text) => Object.hasOwn(CHINESE, text);

/** What t() is given of so many: English has a form for one. counted(1, '{n} key', '{n} keys') */
export const counted = (n, one, many) => (chosen === 'en' && n === 1 ? one : many);

/** t('{n} keys', {n: 3}) */
export function t(text, values) {
  const words = (chosen === 'zh' && CHINESE[text]) || text;
  return values ? words.replace(/\{(\w+)\}/g, (whole, name) => (Object.hasOwn(values, name) ? values[name] : whole)) : words;
}
