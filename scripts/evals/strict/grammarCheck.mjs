// Checks grammar-constrained decoding: a model with random weights writes calls and JSON under a grammar, and Ajv and
// JSON.parse check every text.
/** @import { Model } from '../../../src/inference/contract/engine.ts' */
/** @import { CallGrammar, ToolChoice } from '../../../src/chat/grammar/rule.ts' */
/** @import { Tool, ToolCallFormat } from '../../../src/chat/tool.ts' */
import { Ajv } from 'ajv';
import { readCallsIn, readWholeCall } from './readCalls.mjs';
import { neutralSampling } from './sampling.mjs';

/**
 * @typedef {object} GrammarCheckResult
 * @property {number} complete Texts that were complete and checked.
 * @property {number} cut Generations that reached max_tokens inside a constrained text.
 * @property {string[]} wrong One sentence for each wrong text.
 * @property {number} tokens Generated tokens.
 * @property {number} milliseconds
 */

const neverAborted = new AbortController().signal;
const prompt = {
  messages: [
    { role: 'system', text: 'You are a lamp.' },
    { role: 'user', text: 'Turn the porch light on.' },
  ],
  // A lazy grammar is not triggered within reasoning.
  thinking: false,
};

/** What each format writes around calls, repeated here so that the check shares no code with the grammar. */
const shapes = {
  chatml: { before: '<tool_call>\n', after: '\n</tool_call>', name: 'name', args: 'arguments' },
  llama3: { before: '', after: '', name: 'name', args: 'parameters' },
  mistral: { before: '[TOOL_CALLS]', after: '', name: 'name', args: 'arguments', id: /^[A-Za-z0-9]{9}$/ },
  generic: { before: '', after: '', name: 'tool', args: 'args' },
  react: { before: '\nAction: ', after: '', name: 'name', args: 'args', toJson: reactJson, toCall: reactCall },
};

/**
 * Generates calls until `count` of them are complete, and checks each.
 * @param {Model} model
 * @param {{ format: ToolCallFormat, tools: readonly Tool[], choice: ToolChoice, count: number, seed?: number, freeTokens?: number }} options
 * `freeTokens`: largest number of unconstrained tokens of a text.
 * @returns {Promise<GrammarCheckResult>}
 */
export async function checkCalls(model, { format, tools, choice, count, seed = 1, freeTokens = 400 }) {
  const tally = newTally();
  const checkedBy = shapes[format.name] ? shapeCheck : readerCheck;
  const given = format.grammar(tools, choice);
  const check = checkedBy({ format, tools, choice, given });
  const grammar = given.kind === 'full' ? given : triggeredBy('e', given);
  for (let run = 0; tally.complete < count && run < 10 * count; run++) {
    const { text, finishReason } = await generate(model, { grammar, seed: seed + run, maxTokens: freeTokens }, tally);
    const { calls, wrong, isCut } = check(text, finishReason === 'length');
    tally.complete += calls;
    if (isCut) tally.cut++;
    for (const problem of wrong) tally.wrong.push(`seed ${seed + run}: ${problem}`);
  }
  return tally;
}

/**
 * Generates JSON under the grammar of a schema until `count` texts are complete, and checks each.
 * @param {Model} model
 * @param {{ grammar: CallGrammar, schema: object, count: number, seed?: number }} options
 * @returns {Promise<GrammarCheckResult>}
 */
export async function checkJson(model, { grammar, schema, count, seed = 1 }) {
  const tally = newTally();
  const fits = validator(schema);
  for (let run = 0; tally.complete < count && run < 10 * count; run++) {
    const { text, finishReason } = await generate(model, { grammar, seed: seed + run, maxTokens: 400 }, tally);
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

async function generate(model, { grammar, seed, maxTokens }, tally) {
  const sequence = model.openSequence();
  const sampling = { ...neutralSampling, temperature: 1.5, max_tokens: maxTokens, seed };
  const completion = await sequence.generate(prompt, { sampling, signal: neverAborted, controlTokens: true, grammar });
  await sequence[Symbol.asyncDispose]();
  tally.tokens += completion.tokens.generated;
  tally.milliseconds += completion.timings.totalMs;
  return completion;
}

// A model with random weights hardly writes a tag of its own, so a letter is made a trigger, too.
const triggeredBy = (letter, { triggers, ...rest }) => ({
  ...rest,
  triggers: [
    ...triggers.slice(0, 1).map(({ rule }) => ({
      text: letter,
      where: 'anywhere',
      rule: { kind: 'all', rules: [{ kind: 'text', text: letter }, rule] },
    })),
    ...triggers,
  ],
});

/** The check of the texts of a format that has a shape. */
function shapeCheck({ format, tools, choice, given }) {
  const shape = shapes[format.name];
  const problemOf = callCheck(tools, choice);
  return (text, endedEarly) => {
    const isFull = given.kind === 'full';
    const isCut = endedEarly && (isFull || !endsUnconstrained(text, shape));
    const { toCall = (whole) => whole } = shape;
    const pieces = isFull ? (isCut ? [] : [toCall(text)]) : callTexts(text, shape);
    const problems = pieces.map((piece) => [problemOf(piece, shape) ?? detectionProblem(format, piece), piece]);
    const wrong = problems.flatMap(([problem, piece]) => (problem === undefined ? [] : [`${problem}: ${piece}`]));
    return { calls: pieces.length, wrong, isCut };
  };
}

/** The check of the texts of any other format, by its own reader. */
function readerCheck({ format, tools, choice, given }) {
  const known = validators(tools);
  return (text, endedEarly) => {
    const options = { format, tools, endedEarly };
    const read =
      given.kind === 'full'
        ? readWholeCall(text, options)
        : readCallsIn(text, { ...options, opening: given.triggers[0].text });
    const wrong = read.calls.flatMap(({ name, args, raw }) => {
      const problem = argumentProblem({ name, args }, known, choice);
      return problem === undefined ? [] : [`${problem}: ${raw}`];
    });
    return { calls: read.calls.length, wrong: [...wrong, ...read.wrong], isCut: read.isCut };
  };
}

const asItIs = (text) => text;

/** A call of react, from its name on, as JSON; "": it is none. */
function reactJson(text) {
  const [, name, args] = /^([\w.-]+)\nAction Input: (\{.*)$/s.exec(text) ?? [];
  return name === undefined ? '' : `{"name": ${JSON.stringify(name)}, "args": ${args}}`;
}

/** A whole text as a call of react: without its thought. */
function reactCall(text) {
  return `\n${text}`.replace(/^\nThought: [^\n]{1,200}(?=\n)/u, '');
}

/** The calls in a text that is unconstrained around them. */
function callTexts(text, shape) {
  const pieces = [];
  for (let at = text.indexOf(`e${shape.before}`); at >= 0;) {
    const end = endOf(text, at + 1, shape);
    if (end !== undefined) pieces.push(text.slice(at + 1, end));
    at = end === undefined ? -1 : text.indexOf(`e${shape.before}`, end);
  }
  return pieces;
}

function endOf(text, start, { before, after, toJson = asItIs }) {
  const closing = /[}\]]/g;
  closing.lastIndex = start + before.length;
  while (closing.test(text)) {
    const end = closing.lastIndex;
    if (parseJson(toJson(text.slice(start + before.length, end))) && text.startsWith(after, end))
      return end + after.length;
  }
  return undefined;
}

const endsUnconstrained = (text, shape) => {
  const last = callTexts(text, shape).at(-1) ?? '';
  return !text.slice(text.lastIndexOf(last) + last.length).includes('e');
};

function callCheck(tools, choice) {
  const known = validators(tools);
  return (text, { before, after, name, args, id, toJson = asItIs }) => {
    if (!text.startsWith(before) || !text.endsWith(after)) return 'no frame';
    const json = parseJson(toJson(text.slice(before.length, text.length - after.length)));
    if (!json) return 'no JSON';
    for (const call of [json.value].flat()) {
      const { id: ownId, ...rest } = call;
      if (Object.keys(id ? rest : call).join() !== [name, args].join()) return 'no call';
      if (id && ownId !== undefined && !id.test(ownId)) return 'another id';
      const wrong = argumentProblem({ name: call[name], args: call[args] }, known, choice);
      if (wrong !== undefined) return wrong;
    }
    return undefined;
  };
}

const validators = (tools) => new Map(tools.map(({ name, parameters }) => [name, validator(parameters)]));

function argumentProblem({ name, args }, known, choice) {
  if (!known.has(name)) return 'unknown tool';
  if (choice.kind === 'tool' && name !== choice.name) return 'another tool';
  return known.get(name)(args);
}

/** The problem when the format's own detection does not find the calls. */
function detectionProblem(format, text) {
  const { calls, residual, truncated } = format.detect(text);
  return calls.length > 0 && residual === '' && !truncated ? undefined : 'not read as a call';
}

function parseJson(text) {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}

function wrongJson(text, fits) {
  const json = parseJson(text);
  return json ? fits(json.value) : 'no JSON';
}

const formats = {
  date: (text) => text === asIso(`${text}T00:00:00Z`).slice(0, 10),
  'date-time': (text) => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/.test(text) && asIso(text) !== '',
  uuid: /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i,
  email: /^[^@\s]+@[^@\s.]+(\.[^@\s.]+)+$/,
};

const asIso = (text) => (Number.isNaN(Date.parse(text)) ? '' : new Date(text).toISOString());

// One for all schemas: each Ajv compiles the schema of schemas first, which takes longer than a schema.
const ajv = new Ajv({ strict: true, strictRequired: true, allowUnionTypes: true, formats });
const compiled = new WeakMap();

function validator(schema) {
  const validate = compiled.get(schema) ?? ajv.compile(withoutExtraProperties(schema));
  compiled.set(schema, validate);
  return (value) => (validate(value) ? undefined : ajv.errorsText(validate.errors));
}

/** A copy of a schema that allows only the declared properties. */
function withoutExtraProperties(schema) {
  if (typeof schema !== 'object' || schema === null) return schema;
  if (Array.isArray(schema)) return schema.map(withoutExtraProperties);
  const inner = Object.entries(schema).map(([key, value]) => [
    key,
    key === 'const' || key === 'enum' ? value : withoutExtraProperties(value),
  ]);
  const isObject = schema.type === 'object' && schema.properties;
  return { ...Object.fromEntries(inner), ...(isObject && { additionalProperties: false }) };
}
