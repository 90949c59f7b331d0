const backticksOrParagraph = /`+|\n[ \t\r]*\n/g;
const minFenceBackticks = 3;

/**
 * The index after the code that a run of backticks opens. Code in one or two backticks ends at a run as long, within
 * its paragraph; a fence quotes nothing, because models put their calls in fences.
 */
export function skipInlineCode(text: string, at: number): number {
  const marks = backticksAt(text, at);
  const start = at + marks;
  if (marks >= minFenceBackticks) return start;
  backticksOrParagraph.lastIndex = start;
  let spans = backticksOrParagraph.exec(text);
  while (spans?.[0].startsWith('`') && spans[0].length !== marks) spans = backticksOrParagraph.exec(text);
  if (spans?.[0].startsWith('`')) return backticksOrParagraph.lastIndex;
  return spans === null && isUnclosedQuote(text, start) ? text.length : start;
}

// A quotation that the token limit cut off quotes as much as a whole one; a backtick lost in prose does not.
function isUnclosedQuote(text: string, start: number): boolean {
  return '<[{'.includes(text[start] ?? ' ') || !text.includes('\n', start);
}

function backticksAt(text: string, at: number): number {
  let end = at;
  while (text[end] === '`') end++;
  return end - at;
}
