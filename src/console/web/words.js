// words: formats numbers, times and commands for people.

import {el} from './dom.js';

const grouped = new Intl.NumberFormat('en-US', {maximumFractionDigits: 0});
const few = new Intl.NumberFormat('en-US', {maximumFractionDigits: 1});

export function number(value) {
  return grouped.format(value);
}

export function rate(value) {
  return `${value >= 10 ? number(value) : few.format(value)}/s`;
}

// of: {count, exact}, as in the JSON of `outboxd status`.
export function count(of) {
  return (of.exact ? '' : 'about ') + number(of.count);
}

export function events(many) {
  return `${number(many)} ${many === 1 ? 'event' : 'events'}`;
}

// Examples: 0.4 s, 42 s, 3 min 20 s, 5 h 12 min, 3 d 4 h
export function age(seconds) {
  if (seconds === null || seconds === undefined) return 'none';
  const whole = Math.floor(seconds);
  if (seconds < 10) return `${Math.max(0, seconds).toFixed(1)} s`;
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  if (whole < 86400) return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
  return `${Math.floor(whole / 86400)} d ${Math.floor((whole % 86400) / 3600)} h`;
}

// Parses a time from PostgreSQL or a relay; null if JavaScript cannot represent it.
export function parse_time(text) {
  if (!text) return null;
  const at = new Date(
    String(text)
      .replace(' UTC', 'Z')
      .replace(/^(\d{4}-\d{2}-\d{2}) /, '$1T'),
  );
  return Number.isNaN(at.getTime()) ? null : at;
}

// Formats a time in UTC as input fields expect it: 2026-01-31 14:00:00.
export function time(text) {
  const at = parse_time(text);
  if (at === null) return text ? String(text) : 'not known';
  const iso = at.toISOString();
  return el('time', {datetime: iso}, iso.slice(0, 19).replace('T', ' '));
}

// Unix seconds as 14:00:00, in UTC.
export function clock(seconds) {
  return new Date(seconds * 1000).toISOString().slice(11, 19);
}

export function since(text) {
  const at = parse_time(text);
  return at === null ? null : ['since ', time(text), ` (${age((Date.now() - at.getTime()) / 1000)})`];
}

// A word for a shell, quoted if necessary.
export function shell_word(text) {
  return /^[A-Za-z0-9\-_./:+,@%=]+$/.test(text) ? text : `'${String(text).replaceAll("'", "'\\''")}'`;
}
