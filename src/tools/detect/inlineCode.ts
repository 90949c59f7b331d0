const runOrParagraph = /`+|\n[ \t\r]*\n/g;
const fence = 3;

/**
 * The index after the code that a run of backticks opens. Code in one or two backticks ends at a run as long, within
 * its paragraph; a fence quotes nothing, because models put their calls in fences.
 */
export function pastCode(text: string, at: number): number {
  const marks = backticksAt(text, at);
  const start = at + marks;
  if (marks >= fence) return start;
  runOrParagraph.lastIndex = start;
  let found = runOrParagraph.exec(text);
  while (found?.[0].startsWith('`') && found[0].length !== marks) found = runOrParagraph.exec(text);
  if (found?.[0].startsWith('`')) return runOrParagraph.lastIndex;
  return found === null && isCutQuote(text, start) ? text.length : start;
}

// A quotation that the token limit cut off quotes as much as a whole one; a backtick lost in prose does not.
function isCutQuote(text: string, start: number): boolean {
  return '<[{'.includes(text[start] ?? ' ') || !text.includes('\n', start);
}

function backticksAt(text: string, at: number): number {
  let end = at;
  while (text[end] === '`') end++;
  return end - at;
}
