// Figures as a table for a person.

const number = (value) =>
  Number.isInteger(value) || Math.abs(value) >= 100 ? value.toFixed(0) : value.toFixed(value >= 10 ? 1 : 3);
const signs = { higher: '>=', lower: '<=' };
const verdicts = { true: 'yes', false: 'NO', null: '' };

const columns = [
  ['name', ({ name }) => name],
  ['of', ({ of }) => of],
  ['figure', ({ ratio, unit }) => (unit === 'x' ? number(ratio) : `${number(ratio)} ${unit}`)],
  [
    'goal',
    ({ goal, better, unit }) =>
      goal === null ? 'reported' : `${signs[better]} ${goal}${unit === 'x' ? '' : ` ${unit}`}`,
  ],
  ['met', ({ met }) => verdicts[met]],
  ['measured', ({ detail }) => shown(detail)],
];

/** A line for each figure under a head, in Markdown. */
export function tableOf(stats) {
  const cells = [columns.map(([head]) => head), ...stats.map((one) => columns.map(([, show]) => show(one)))];
  const widths = columns.map((_, at) => Math.max(3, ...cells.map((line) => line[at].length)));
  const line = (texts) => `| ${texts.map((text, at) => text.padEnd(widths[at])).join(' | ')} |`;
  const rule = `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`;
  const [head, ...lines] = cells.map(line);
  return [head, rule, ...lines].join('\n');
}

// Numbers and words; lists and objects are for --json.
const shown = (detail) =>
  Object.entries(detail)
    .filter(([, value]) => typeof value === 'number' || typeof value === 'string')
    .map(([name, value]) => `${name} ${typeof value === 'number' ? number(value) : value}`)
    .join(', ');
