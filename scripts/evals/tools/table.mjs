// Formats the scores as a Markdown table.
import { formatColumns, percent } from '../formatColumns.mjs';

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
  ['result given', ({ resultGiven }) => percent(resultGiven)],
  ['to Generate', ({ resultGivenToGenerate }) => percent(resultGivenToGenerate)],
  ['tokens/call', ({ tokensPerCall }) => number(tokensPerCall)],
  ['ms/call', ({ msPerCall }) => number(msPerCall)],
];

/** One line for each row under a header line, numbers aligned to the right. */
export const formatTable = (rows) => formatColumns(columns, rows, 2);
