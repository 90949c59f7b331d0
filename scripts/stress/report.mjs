// What a trial found, for a person.
const mostFaults = 20;

/** The lines of a result: the verdict, the figures, the first faults. */
export function linesOf({ trial, ok, seconds, figures: stats, notes = [], faults }) {
  const shown = faults.slice(0, mostFaults).map((fault) => `  FAULT ${fault.slice(0, 600)}`);
  const more = faults.length > mostFaults ? [`  and ${faults.length - mostFaults} more faults`] : [];
  return [
    `${trial}: ${ok ? 'passed' : `FAILED with ${faults.length} faults`} in ${seconds} s`,
    ...figuresOf(stats, '  '),
    ...notes.map((note) => `  ${note}`),
    ...shown,
    ...more,
  ];
}

function figuresOf(stats, indent) {
  return Object.entries(stats).flatMap(([name, value]) => {
    if (typeof value !== 'object' || value === null) return [`${indent}${spaced(name)}: ${shown(value)}`];
    return [`${indent}${spaced(name)}:`, ...figuresOf(value, `${indent}  `)];
  });
}

const spaced = (name) => name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
const shown = (value) => (typeof value === 'number' && !Number.isInteger(value) ? value.toPrecision(3) : String(value));
