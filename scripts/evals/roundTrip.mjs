// npm run eval:roundtrip -- --templates FOLDER [OPTIONS]: whether true calls are read back. Each chat template of a folder
// (*.jinja) writes the true calls of each question of the Berkeley Function Calling Leaderboard v4, rendered by Jinja2 in Python;
// the text is read in the format that the server chooses for the template.
// Columns: replies that the template refuses to write, and writes; those whose calls come back; those that come back as other
// calls for which the template writes the same text, so that no reader could tell them apart.
//   --only TEXT     only the templates with this text in their names
//   --python FILE   a Python that has Jinja2; default python3
//   --limit N       only the first N questions of each category
//   --show N        up to N answers of each template that are read as others; default 3
//   --json          one JSON document instead of the table
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { readTemplateFile } from '../../dist/cli/promptSource.js';
import { formats } from '../../dist/chat/formats/index.js';
import { formatsOf } from '../../dist/chat/dialect/nativeFormat.js';
import { toFunctionDefinition } from '../../dist/chat/formats/toolText.js';
import { stringifyJson } from '../../dist/chat/json/value.js';
import { parseReply } from '../../dist/chat/reply/parseReply.js';
import { commonStart } from '../../dist/chat/template/derive/texts.js';
import { toTemplateMessages } from '../../dist/chat/template/templateMessages.js';
import { readTool } from '../../dist/chat/tools/declaration/readTool.js';
import { exitWithUsageError, readArguments, wholeNumber } from '../options.mjs';
import { categories, readQuestions } from './bfcl/questions.mjs';
import { formatColumns } from './formatColumns.mjs';
import { openRenderer } from './roundTrip/renderer.mjs';
import { trueCalls, withIds } from './roundTrip/trueCalls.mjs';

const question = { role: 'user', content: 'Zqword question.' };

const options = readOptions();
const answers = await readAnswers();
const files = (await readdir(options.templates)).filter(
  (name) => name.endsWith('.jinja') && name.includes(options.only),
);
if (files.length === 0)
  exitWithUsageError(`${options.templates} has no chat template *.jinja with "${options.only}" in its name`);
const rows = [];
const renderer = openRenderer(options.python);
try {
  for (const file of files.toSorted()) rows.push(await measure(file));
} finally {
  renderer.close();
}
const total = {
  template: 'all',
  format: '',
  refused: sum('refused'),
  written: sum('written'),
  read: sum('read'),
  same: sum('same'),
};
if (options.json) console.log(JSON.stringify({ evaluation: 'eval:roundtrip', rows, total }, undefined, 2));
else print();

async function readAnswers() {
  const questions = [];
  for (const category of Object.keys(categories)) questions.push(...(await readQuestions(category, options.limit)));
  return questions.flatMap(({ id, truth, tools }) => {
    const readings = tools.map((tool) => readTool({ consequential: false, description: '', ...tool }));
    // A tool that the server refuses is never called.
    const isOffered = readings.every(({ ok }) => ok);
    return truth.length > 0 && isOffered
      ? [{ id, calls: trueCalls(truth), tools: readings.map(({ value }) => value) }]
      : [];
  });
}

async function measure(file) {
  const path = join(options.templates, file);
  const { toolDialect, replyMarks: marks } = await readTemplateFile(path);
  const format = formatsOf(toolDialect, formats).get(toolDialect.format);
  const row = {
    template: file.replace('.jinja', ''),
    format: format?.name ?? '',
    refused: 0,
    written: 0,
    read: 0,
    same: 0,
    others: [],
  };
  // A template that leaves calls out writes none, and the layout of its family is not its own.
  if (!format || !toolDialect.convention) return row;
  const { convention } = toolDialect;
  const replies = answers.flatMap(({ calls, ...answer }) =>
    (convention.severalCalls ? [calls] : calls.map((call) => [call])).map((written) => ({ ...answer, calls: written })),
  );
  for (const { id, calls, tools } of replies) {
    const { text, refusal } = await write(path, { calls, tools, toolDialect });
    if (text === undefined) {
      row.refused++;
      row.refusal ??= refusal;
      continue;
    }
    row.written++;
    const read = parseReply(text, format, { tools, marks }).calls.map(plainCall);
    if (isDeepStrictEqual(read, calls.map(plainCall))) {
      row.read++;
      continue;
    }
    const again = await write(path, { calls: withIds(read), tools, toolDialect });
    if (again.text === text) row.same++;
    row.others.push({ id, text, calls, read, isSame: again.text === text });
  }
  console.error(`${row.template}: ${row.read} of ${row.written}`);
  return row;
}

function plainCall({ name, arguments: args }) {
  return { name, arguments: JSON.parse(stringifyJson(args)) };
}

/** What a template writes for calls, after the generation prompt, or why it refuses them. */
async function write(template, { calls, tools, toolDialect }) {
  const exchange = { role: 'assistant', text: '', toolExchange: { kind: 'calls', text: '', calls } };
  const messages = [question, ...toTemplateMessages([exchange], toolDialect)];
  const common = { tools: tools.map(toFunctionDefinition), bos_token: '', eos_token: '', documents: null };
  const written = await renderer.render(template, { ...common, messages, add_generation_prompt: false });
  const prompt = await renderer.render(template, { ...common, messages: [question], add_generation_prompt: true });
  if (written.error ?? prompt.error) return { refusal: written.error ?? prompt.error };
  const [answer, opening] = [written, prompt].map(({ text }) => text.slice(text.lastIndexOf(question.content)));
  return { text: answer.slice(commonStart(answer, opening).length) };
}

function sum(key) {
  return rows.reduce((before, row) => before + row[key], 0);
}

function print() {
  const columns = [
    ['template', ({ template }) => template],
    ['format', ({ format }) => format],
    ['refused', ({ refused }) => refused],
    ['written', ({ written }) => written],
    ['read back', ({ read }) => read],
    ['same text', ({ same }) => same],
  ];
  console.log(formatColumns(columns, [...rows, total], 2));
  for (const { template, refusal } of rows.filter(({ refused }) => refused > 0))
    console.log(`\n${template} refuses: ${refusal}`);
  for (const { template, others } of rows)
    for (const { id, text, calls, read, isSame } of others.slice(0, options.show)) {
      console.log(`\n${template}, ${id}${isSame ? ' (same text)' : ''}: ${JSON.stringify(text)}`);
      console.log(`  is     ${stringifyJson(calls.map(plainCall))}`);
      console.log(`  read as ${stringifyJson(read)}`);
    }
}

function readOptions() {
  const { values } = readArguments({
    options: {
      templates: { type: 'string' },
      only: { type: 'string', default: '' },
      python: { type: 'string', default: 'python3' },
      limit: { type: 'string' },
      show: { type: 'string', default: '3' },
      json: { type: 'boolean', default: false },
    },
  });
  if (values.templates === undefined)
    exitWithUsageError('--templates must name a folder with chat templates (*.jinja)');
  return { ...values, limit: wholeNumber('limit', values.limit), show: wholeNumber('show', values.show, 0) };
}
