// Report of the checked families as lines and a table.
/** @import { FamilyResult } from './check.mjs' */

/** What is wrong with a family, one sentence each; empty = nothing. @param {FamilyResult} result */
export function problemsOf({ family, tokens, prompt, strict }) {
  const texts = tokens.different.map((difference) => `tokens: ${difference}`);
  const prompts = prompt.difference === '' ? [] : [`prompt: ${prompt.difference}`];
  const calls = Object.entries(strict).flatMap(([choice, { wrong }]) => wrong.map((text) => `${choice}: ${text}`));
  return [...texts, ...prompts, ...calls].map((problem) => `${family}: ${problem}`);
}

/** The table, one line for each family. @param {readonly FamilyResult[]} results */
export function formatFamilies(results) {
  const rows = results.map(({ family, words, tokens, prompt, format, strict, seconds }) => [
    family,
    String(words),
    textsOf(tokens),
    `${prompt.tokens} ${prompt.difference === '' ? 'equal' : 'different'}`,
    format.name,
    ...Object.values(strict).map(callsOf),
    `${Math.round(seconds)} s`,
  ]);
  const head = ['family', 'tokens', 'texts', 'prompt', 'format', 'auto', 'required', 'time'];
  const widths = head.map((title, column) => Math.max(...[head, ...rows].map((row) => row[column]?.length ?? 0)));
  const lines = [head, ...rows].map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column]))
      .join('  ')
      .trimEnd(),
  );
  return [...lines, ...results.flatMap(notesOf)];
}

const textsOf = ({ equal, onlyNfc, known, different }) =>
  [
    `${equal} equal`,
    ...(onlyNfc.length > 0 ? [`${onlyNfc.length} but for NFC`] : []),
    ...(known.length > 0 ? [`${known.length} known`] : []),
    ...(different.length > 0 ? [`${different.length} different`] : []),
  ].join(', ');

const callsOf = ({ complete, wrong, cut, milliseconds }) =>
  `${complete} calls, ${wrong.length} wrong, ${cut} cut, ${Math.round(milliseconds / 1000)} s`;

function notesOf({ family, tokens, format }) {
  const normalized = tokens.onlyNfc.join(', ');
  return [
    `${family}: ${format.name}: ${format.reason}`,
    ...format.refused.map((why) => `${family}: left out: ${why}`),
    ...(normalized === ''
      ? []
      : [`${family}: llama.cpp does not normalise to Unicode NFC as the tokenizer does: ${normalized}`]),
    ...tokens.known.map((known) => `${family}: ${known}`),
  ];
}
