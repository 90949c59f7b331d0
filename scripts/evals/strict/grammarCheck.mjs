// Lets a model that says nothing sensible write calls and JSON under a grammar, and checks all of it by other means.
import { Ajv } from 'ajv';
import { unbent } from './sampling.mjs';

const hot = { ...unbent, temperature: 1.5, max_tokens: 400 };
const never = new AbortController().signal;
const prompt = {
  messages: [
    { role: 'system', text: 'You are a lamp.' },
    { role: 'user', text: 'Turn the porch light on.' },
  ],
};

/** What a format writes around calls, said once more here: the check shares nothing with the grammar. */
const shapes = {
  chatml: { before: '<tool_call>\n', after: '\n</tool_call>', name: 'name', args: 'arguments' },
  llama3: { before: '', after: '', name: 'name', args: 'parameters' },
  mistral: { before: '[TOOL_CALLS] ', after: '', name: 'name', args: 'arguments' },
  generic: { before: '', after: '', name: 'tool', args: 'args' },
};

/** Has a model write calls until so many are complete. */
export async function tryCalls(model, { format, tools, choice, count, seed = 1 }) {
  const tally = newTally();
  const check = callCheck(tools, choice);
  const shape = shapes[format.name];
  const given = format.grammar(tools, choice);
  const grammar = given.kind === 'full' ? given : begunBy('e', given);
  for (let run = 0; tally.complete < count && run < 10 * count; run++) {
    const { text, finishReason } = await written(model, grammar, seed + run, tally);
    const isCut = finishReason === 'length' && (given.kind === 'full' || !endsFree(text, shape));
    if (isCut) tally.cut++;
    for (const piece of given.kind === 'full' ? (isCut ? [] : [text]) : piecesOf(text, shape)) {
      const wrong = check(piece, shape) ?? unseen(format, piece);
      if (wrong !== undefined) tally.wrong.push(`seed ${seed + run}: ${wrong}: ${piece}`);
      tally.complete++;
    }
  }
  return tally;
}

/** Has a model write JSON that fits a schema until so many texts are complete. */
export async function tryJson(model, { grammar, schema, count, seed = 1 }) {
  const tally = newTally();
  const fits = validator(schema);
  for (let run = 0; tally.complete < count && run < 10 * count; run++) {
    const { text, finishReason } = await written(model, grammar, seed + run, tally);
    if (finishReason === 'length') {
      tally.cut++;
      continue;
    }
    const wrong = wrongJson(text, fits);
    if (wrong !== undefined) tally.wrong.push(`seed ${seed + run}: ${wrong}: ${text}`);
    tally.complete++;
  }
  return tally;
}

const newTally = () => ({ complete: 0, cut: 0, wrong: [], tokens: 0, milliseconds: 0 });

async function written(model, grammar, seed, tally) {
  const sequence = model.openSequence();
  const sampling = { ...hot, seed };
  const completion = await sequence.generate(prompt, { sampling, signal: never, controlTokens: true, grammar });
  await sequence[Symbol.asyncDispose]();
  tally.tokens += completion.tokens.generated;
  tally.milliseconds += completion.timings.totalMs;
  return completion;
}

// A model without sense never writes a tag, so here a letter calls for it.
const begunBy = (letter, { triggers, ...rest }) => ({
  ...rest,
  triggers: triggers.slice(0, 1).map(({ rule }) => ({
    text: letter,
    where: 'anywhere',
    rule: { kind: 'all', rules: [{ kind: 'text', text: letter }, rule] },
  })),
});

/** The calls in a text that is free around them. */
function piecesOf(text, shape) {
  const pieces = [];
  for (let at = text.indexOf(`e${shape.before}`); at >= 0;) {
    const end = endOf(text, at + 1, shape);
    if (end !== undefined) pieces.push(text.slice(at + 1, end));
    at = end === undefined ? -1 : text.indexOf(`e${shape.before}`, end);
  }
  return pieces;
}

function endOf(text, start, { before, after }) {
  const closing = /[}\]]/g;
  closing.lastIndex = start + before.length;
  while (closing.test(text)) {
    const end = closing.lastIndex;
    if (parsed(text.slice(start + before.length, end)) && text.startsWith(after, end)) return end + after.length;
  }
  return undefined;
}

const endsFree = (text, shape) => {
  const last = piecesOf(text, shape).at(-1) ?? '';
  return !text.slice(text.lastIndexOf(last) + last.length).includes('e');
};

function callCheck(tools, choice) {
  const known = new Map(tools.map(({ name, parameters }) => [name, validator(parameters)]));
  return (text, { before, after, name, args }) => {
    if (!text.startsWith(before) || !text.endsWith(after)) return 'no frame';
    const json = parsed(text.slice(before.length, text.length - after.length));
    if (!json) return 'no JSON';
    for (const call of [json.value].flat()) {
      if (Object.keys(call).join() !== [name, args].join()) return 'no call';
      if (!known.has(call[name])) return 'unknown tool';
      if (choice.kind === 'tool' && call[name] !== choice.name) return 'another tool';
      const wrong = known.get(call[name])(call[args]);
      if (wrong !== undefined) return wrong;
    }
    return undefined;
  };
}

/** Whether the format's own reading does not see the calls. */
function unseen(format, text) {
  const { calls, residual, truncated } = format.detect(text);
  return calls.length > 0 && residual === '' && !truncated ? undefined : 'not read as a call';
}

function parsed(text) {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}

function wrongJson(text, fits) {
  const json = parsed(text);
  return json ? fits(json.value) : 'no JSON';
}

const formats = {
  date: (text) => text === asIso(`${text}T00:00:00Z`).slice(0, 10),
  'date-time': (text) => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/.test(text) && asIso(text) !== '',
  uuid: /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i,
  email: /^[^@\s]+@[^@\s.]+(\.[^@\s.]+)+$/,
};

const asIso = (text) => (Number.isNaN(Date.parse(text)) ? '' : new Date(text).toISOString());

function validator(schema) {
  const ajv = new Ajv({ strict: true, strictRequired: true, allowUnionTypes: true, formats });
  const validate = ajv.compile(closed(schema));
  return (value) => (validate(value) ? undefined : ajv.errorsText(validate.errors));
}

// Only what is declared may be there.
function closed(schema) {
  if (typeof schema !== 'object' || schema === null) return schema;
  if (Array.isArray(schema)) return schema.map(closed);
  const inner = Object.entries(schema).map(([key, value]) => [
    key,
    key === 'const' || key === 'enum' ? value : closed(value),
  ]);
  const isObject = schema.type === 'object' && schema.properties;
  return { ...Object.fromEntries(inner), ...(isObject && { additionalProperties: false }) };
}
