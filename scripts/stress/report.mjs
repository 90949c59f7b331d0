// Formats the result of a stress test as lines of text.
const maxFaultsShown = 20;

/** The lines of a result: passed or failed, the figures, the first faults. */
export function formatReport({ trial, ok, seconds, figures: stats, notes = [], faults }) {
  const shown = faults.slice(0, maxFaultsShown).map((fault) => `  FAULT ${fault.slice(0, 600)}`);
  const more = faults.length > maxFaultsShown ? [`  and ${faults.length - maxFaultsShown} more faults`] : [];
  return [
    `${trial}: ${ok ? 'passed' : `FAILED with ${faults.length} faults`} in ${seconds} s`,
    ...formatFigures(stats, '  '),
    ...notes.map((note) => `  ${note}`),
    ...shown,
    ...more,
  ];
}

function formatFigures(stats, indent) {
  return Object.entries(stats).flatMap(([name, value]) => {
    if (typeof value !== 'object' || value === null) return [`${indent}${spaced(name)}: ${shown(value)}`];
    return [`${indent}${spaced(name)}:`, ...formatFigures(value, `${indent}  `)];
  });
}

const spaced = (name) => name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
const shown = (value) => (typeof value === 'number' && !Number.isInteger(value) ? value.toPrecision(3) : String(value));
