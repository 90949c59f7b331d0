// Formats rows as a Markdown table.

/** One line for each row under a header line; cells are aligned to the right, except for those of the first columns. */
export function formatColumns(columns, rows, textColumns) {
  const cells = rows.map((row) => columns.map(([, show]) => String(show(row))));
  const widths = columns.map(([head], at) => Math.max(head.length, ...cells.map((line) => line[at].length)));
  const isText = (at) => at < textColumns;
  const line = (texts) =>
    `| ${texts.map((text, at) => (isText(at) ? text.padEnd(widths[at]) : text.padStart(widths[at]))).join(' | ')} |`;
  const rule = `| ${widths.map((width, at) => (isText(at) ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`)).join(' | ')} |`;
  return [line(columns.map(([head]) => head)), rule, ...cells.map(line)].join('\n');
}

/** A rate from 0 to 1 in percent; nothing for null. */
export const percent = (rate) => (rate === null ? '' : `${(100 * rate).toFixed(0)} %`);
