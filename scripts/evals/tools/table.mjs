// Formats the scores as a Markdown table.

const percent = (rate) => (rate === null ? '' : `${(100 * rate).toFixed(0)} %`);
const number = (value) => (value === null ? '' : value.toFixed(0));

const columns = [
  ['format', ({ format }) => format],
  ['mode', ({ mode }) => mode],
  ['exact', ({ exact }) => percent(exact)],
  ['simple', ({ exactByCategory }) => percent(exactByCategory.simple)],
  ['multiple', ({ exactByCategory }) => percent(exactByCategory.multiple)],
  ['parallel', ({ exactByCategory }) => percent(exactByCategory.parallel)],
  ['par. multiple', ({ exactByCategory }) => percent(exactByCategory.parallelMultiple)],
  ['wrong', ({ wrong }) => percent(wrong)],
  ['wrong count', ({ wrongCount }) => percent(wrongCount)],
  ['undecoded', ({ decodeFailure }) => percent(decodeFailure)],
  ['missed', ({ missed }) => percent(missed)],
  ['false call', ({ falseCall }) => percent(falseCall)],
  ['tokens/call', ({ tokensPerCall }) => number(tokensPerCall)],
  ['ms/call', ({ msPerCall }) => number(msPerCall)],
];

/** One line for each row under a header line, numbers aligned to the right. */
export function formatTable(rows) {
  const cells = rows.map((row) => columns.map(([, show]) => show(row)));
  const widths = columns.map(([head], at) => Math.max(head.length, ...cells.map((line) => line[at].length)));
  const isText = (at) => at < 2;
  const line = (texts) =>
    `| ${texts.map((text, at) => (isText(at) ? text.padEnd(widths[at]) : text.padStart(widths[at]))).join(' | ')} |`;
  const rule = `| ${widths.map((width, at) => (isText(at) ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`)).join(' | ')} |`;
  return [line(columns.map(([head]) => head)), rule, ...cells.map(line)].join('\n');
}
