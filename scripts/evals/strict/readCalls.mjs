// Reads generated calls with the reader of their format, as the server does, and says what it did not read back exactly.
/** @import { DetectedCall, Tool, ToolCallFormat } from '../../../src/chat/tool.ts' */

/**
 * @typedef {object} CallReading
 * @property {{ name: string, args: unknown, raw: string }[]} calls Arguments as plain data.
 * @property {string[]} wrong One sentence for each call that was not read back exactly.
 * @property {boolean} isCut Whether the text ends inside a call.
 */

/**
 * @typedef {object} ReadingOptions
 * @property {ToolCallFormat} format
 * @property {readonly Tool[]} tools
 * @property {boolean} endedEarly Whether a maximum of tokens ended the text.
 */

/**
 * Reads a text that is one call.
 * @param {string} text
 * @param {ReadingOptions} options
 * @returns {CallReading}
 */
export function readWholeCall(text, { format, tools, endedEarly }) {
  if (endedEarly) return { calls: [], wrong: [], isCut: true };
  const { calls, residual, truncated } = format.detect(text, { tools });
  const isOne = calls.length === 1 && residual.trim() === '' && !truncated && !calls[0].repaired;
  return { calls: calls.map(toPlainCall), wrong: isOne ? [] : [`is not read as one call: ${text}`], isCut: false };
}

/**
 * Reads the calls of a text that is unconstrained around them, each on its own: the text before a call may be anything, also
 * the beginning of Markdown code or reasoning, in which no call is read.
 * @param {string} text
 * @param {ReadingOptions & { opening: string }} options `opening`: what the calls, or a section of several, begin with.
 * @returns {CallReading}
 */
export function readCallsIn(text, { format, tools, endedEarly, opening }) {
  const reading = { calls: [], wrong: [], isCut: false };
  const isKnown = ({ name, repaired }) => !repaired && tools.some((tool) => tool.name === name);
  for (let start = text.indexOf(opening); start >= 0;) {
    const rest = text.slice(start);
    const { calls } = format.detect(rest, { tools });
    // A call that is cut off reaches to the end of the text; a mark in it is part of a string.
    if (endedEarly && !calls.some(isKnown)) return { ...reading, isCut: true };
    const section = sectionOf(calls, rest, opening);
    reading.calls.push(...section.calls.map(toPlainCall));
    const problem = problemOf(section.calls);
    if (problem !== undefined) reading.wrong.push(`${problem}: ${rest}`);
    start = text.indexOf(opening, start + section.end);
  }
  return reading;
}

const problemOf = (calls) =>
  calls.length === 0 ? 'is not read' : calls.some(({ repaired }) => repaired) ? 'is read as malformed' : undefined;

// In UTF-16 units: between the opening and the name there are marks and ids.
const maxDistance = 64;

/** The calls at the start of a text, up to the next opening, and the index after them. */
function sectionOf(calls, text, opening) {
  const section = { calls: [], end: opening.length };
  for (const call of calls) {
    const start = text.indexOf(call.raw, section.calls.length === 0 ? 0 : section.end);
    const between = text.slice(section.end, start);
    if (between.includes(opening) || between.length > maxDistance) break;
    section.calls.push(call);
    section.end = start + call.raw.length;
  }
  return section;
}

const toPlainCall = ({ name, arguments: args, raw }) => ({ name, args: toPlain(args), raw });

/** A JSON value that was read from a text as plain data. */
function toPlain(value) {
  if (Array.isArray(value)) return value.map(toPlain);
  if (!(value instanceof Map)) return typeof value?.digits === 'string' ? Number(value.digits) : value;
  return Object.fromEntries([...value].map(([key, member]) => [key, toPlain(member)]));
}
