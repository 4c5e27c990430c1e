// chart: draws the figures of the last ten minutes with uPlot.

import {el} from './dom.js';
import {clock, number} from './words.js';

const height = 180;

function color(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

// series: [{label, color: name of a CSS variable, words: (value) => text}]. Returns {element, draw(values)}.
// values: an array of times in Unix seconds, then an array of values for each series.
export function chart(title, series) {
  const place = el('div', {class: 'plot'});
  const told = el('p', {class: 'unseen'});
  const element = el('figure', {class: 'chart'}, el('figcaption', {}, title), place, told);
  let plot = null;
  let columns = null;
  let dark = null;

  function make() {
    const axis = {stroke: color('--soft'), grid: {stroke: color('--line'), width: 1}, ticks: {show: false}};
    plot = new globalThis.uPlot(
      {
        width: place.clientWidth,
        height,
        legend: {live: true},
        cursor: {drag: {x: false, y: false}},
        scales: {y: {range: (_, least, most) => [0, Math.max(1, most * 1.1)]}},
        axes: [
          {
            ...axis,
            space: 90,
            values: (_, ticks) => ticks.map(clock),
          },
          {
            ...axis,
            size: 64,
            values: (_, ticks) => ticks.map((one) => (Number.isInteger(one) ? number(one) : '')),
          },
        ],
        series: [
          {label: 'time', value: (_, at) => (at === null ? '–' : clock(at))},
          ...series.map((one) => ({
            label: one.label,
            stroke: color(one.color),
            width: 2,
            points: {show: false},
            value: (_, value) => (value === null ? '–' : one.words(value)),
          })),
        ],
      },
      columns,
      place,
    );
  }

  const watcher = new ResizeObserver(() => {
    if (!element.isConnected) return watcher.disconnect();
    if (plot !== null && place.clientWidth > 0) plot.setSize({width: place.clientWidth, height});
  });
  watcher.observe(place);

  return {
    element,
    draw(values) {
      columns = values;
      const is_dark = matchMedia('(prefers-color-scheme: dark)').matches;
      if (plot !== null && dark !== is_dark) {
        plot.destroy();
        plot = null;
      }
      dark = is_dark;
      if (plot === null) make();
      else plot.setData(values);
      const last = values[0].length - 1;
      told.textContent =
        last < 0
          ? 'Nothing has been seen yet.'
          : `${title}: now ${series.map((one, at) => `${one.label} ${one.words(values[at + 1][last])}`).join(', ')}.`;
    },
  };
}
