// Formats benchmark results as a Markdown table.

const number = (value) =>
  Number.isInteger(value) || Math.abs(value) >= 100 ? value.toFixed(0) : value.toFixed(value >= 10 ? 1 : 3);
const signs = { higher: '>=', lower: '<=' };
const goalMarks = { true: 'yes', false: 'NO', null: '' };

const columns = [
  ['name', ({ name }) => name],
  ['of', ({ of }) => of],
  ['figure', ({ ratio, unit }) => (unit === 'x' ? number(ratio) : `${number(ratio)} ${unit}`)],
  [
    'goal',
    ({ goal, better, unit }) =>
      goal === null ? 'reported' : `${signs[better]} ${goal}${unit === 'x' ? '' : ` ${unit}`}`,
  ],
  ['met', ({ met }) => goalMarks[met]],
  ['measured', ({ detail }) => formatDetail(detail)],
];

/**
 * One line for each result, under a header line.
 * @param {readonly import('./results.mjs').BenchResult[]} stats
 * @returns {string}
 */
export function formatTable(stats) {
  const cells = [columns.map(([head]) => head), ...stats.map((one) => columns.map(([, show]) => show(one)))];
  const widths = columns.map((_, at) => Math.max(3, ...cells.map((line) => line[at].length)));
  const line = (texts) => `| ${texts.map((text, at) => text.padEnd(widths[at])).join(' | ')} |`;
  const rule = `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`;
  const [head, ...lines] = cells.map(line);
  return [head, rule, ...lines].join('\n');
}

// Numbers and strings only; lists and objects are printed by --json.
const formatDetail = (detail) =>
  Object.entries(detail)
    .filter(([, value]) => typeof value === 'number' || typeof value === 'string')
    .map(([name, value]) => `${name} ${typeof value === 'number' ? number(value) : escapeCell(value)}`)
    .join(', ');

// A cell is one line, and a bar would end it.
const escapeCell = (text) => text.replaceAll('\n', '\\n').replaceAll('\r', '\\r').replaceAll('|', '\\|');
