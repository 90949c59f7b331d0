import { defineNode, type NodeContext, routingEffects } from '../compile/node.ts';
import { answeredCalls, type SelectedTool, type Turn } from '../compile/turn.ts';
import { resultContent, resultLine } from '../../chat/tool.ts';
import { stringifyJson } from '../../chat/json/value.ts';
import { inferenceParams, openScorer } from './inference.ts';
import { didYouMean } from '../../base/didYouMean.ts';
import { describeParam } from '../compile/document.ts';
import { liveParams } from '../compile/liveParams.ts';
import type { FromSchema, SchemaError } from '../../protocol/schema.ts';
import { array, closedObject, integer, number, string } from '../../protocol/schemaBuilders.ts';
import type { PatternMatcher } from '../storage/patternSet.ts';
import { oneLine } from './route.ts';
import { compileEntryPatterns, foldParam, warnOfUnused } from './stringParams.ts';

const exits = ['matched', 'none_matched'] as const;
const defaultThreshold = 0.5;

const params = closedObject(['guidelines'], {
  guidelines: array(
    {
      maxItems: 64,
      live: true,
      items: closedObject(['name', 'tools'], {
        name: string({ minLength: 1, maxLength: 128 }, 'What `because` of a call names.'),
        when: string(
          { minLength: 1, editor: 'multiline' },
          'The condition in words, for match "model": "the user wants to change a light".',
        ),
        patterns: array(
          { items: { type: 'string' } },
          'For match "patterns": regular expressions (RE2 syntax), matched anywhere in the message and in the results of this turn, case-insensitive.',
        ),
        tools: array({ items: { type: 'string' } }, 'Names of tools of ToolCall nodes.'),
        action: string({ editor: 'multiline' }, 'What the model is to do then: plain text, for templates.'),
      }),
    },
    'Which tools are offered when.',
  ),
  match: string(
    { enum: ['patterns', 'model'], default: 'patterns' },
    'patterns: a pattern of the guideline matches; model: a model decides whether its condition holds.',
  ),
  threshold: number(
    { minimum: 0, maximum: 1, default: defaultThreshold, live: true },
    'For match "model": the probability of "yes" from which on a condition holds.',
  ),
  max_tools: integer(
    { minimum: 1, default: 8, live: true },
    'Maximum number of tools selected; those of the first guidelines take precedence.',
  ),
  fold: foldParam,
  model_name: inferenceParams.model_name,
});

export const selectTools = defineNode({
  type: 'SelectTools',
  summary: 'Selects the tools of the guidelines that hold in a turn, so that a later ToolCall offers only these.',
  params,
  exits,
  effects: ({ guidelines, match }) => ({
    ...routingEffects,
    infers: match === 'model',
    silentExits: exits,
    informsLaterNodes: true,
    selects: namesOf(toolsOf(guidelines)),
  }),
  async create(params, context) {
    const { nodeName, toolNames } = context;
    const settings = await liveParams(params, settingsReader(context));
    const { match, model_name: modelName, threshold: given } = params;
    const unused = { model_name: modelName !== '', threshold: given !== defaultThreshold };
    if (match === 'patterns') warnOfUnused(match, unused, context);
    const scorer = match === 'model' ? await openScorer(modelName, context, questionOf) : undefined;
    const judge = async (turn: Turn) => {
      const { guidelines, matchers, threshold } = settings.current;
      const judged = [];
      for (const [index, guideline] of guidelines.entries()) {
        const answered = await scorer?.score(turn, ['yes', 'no'], guideline.when ?? '');
        const probability = answered && probabilityOfYes(answered.scores);
        const holds = probability === undefined ? await matchesTurn(turn, matchers[index]) : probability >= threshold;
        // What diagnostics show; patterns give no probability.
        const finding = { name: guideline.name, ...(probability !== undefined && { probability }) };
        judged.push({ guideline, holds, finding });
      }
      return judged;
    };
    return {
      async run(turn) {
        const { max_tools: maxTools } = settings.current;
        const judged = await judge(turn);
        const matched = judged.filter(({ holds }) => holds).map(({ guideline }) => guideline);
        const brought = toolsOf(matched);
        const known = toolNames();
        const unknown = namesOf(brought.filter(({ name }) => known?.has(name) === false));
        const available = brought.filter(({ name }) => known?.has(name) !== false);
        const tools = available.slice(0, maxTools);
        const cut = namesOf(available.slice(maxTools));
        if (unknown.length > 0) {
          const place = `${nodeName}.params.guidelines`;
          turn.warn(`${place} names tools that no node declares any more: ${unknown.join(', ')}; change it, too`);
        }
        if (cut.length > 0) {
          const place = `${nodeName}.params.max_tools`;
          turn.warn(`${place} is ${maxTools}, so these tools are not selected: ${cut.join(', ')}; raise it`);
        }
        turn.select({ guidelines: matched.map(({ name, action = '' }) => ({ name, action })), tools });
        const findings = (held: boolean) => judged.filter(({ holds }) => holds === held).map(({ finding }) => finding);
        turn.emitEvent('tools_selected', { guidelines: findings(true), not_matched: findings(false), tools, cut });
        return matched.length > 0 ? 'matched' : 'none_matched';
      },
      change: settings.change,
      ...scorer,
    };
  },
});

type Params = FromSchema<typeof params>;
type Guideline = Params['guidelines'][number];

/** Reads live parameters. Guidelines that stay the same are not checked again: another node may have changed its tools. */
function settingsReader(context: NodeContext) {
  let known: { readonly key: string; readonly matchers: readonly PatternMatcher[] } | undefined;
  return async (params: Params) => {
    const key = JSON.stringify(params.guidelines);
    if (known?.key !== key) known = { key, matchers: await readGuidelines(params, context) };
    return { ...params, matchers: known.matchers };
  };
}

const maxErrors = 100;
// Names of tools that an unknown one is compared with: so many comparisons for each error take half a millisecond.
const maxCompared = 500;

/** Checks guidelines and compiles their patterns. @throws InvalidParams with the errors of all guidelines. */
async function readGuidelines(params: Params, context: NodeContext): Promise<readonly PatternMatcher[]> {
  const { guidelines, match, fold } = params;
  const { nodeName, warn } = context;
  const errors: SchemaError[] = [];
  for (const error of findErrors(params, context.toolNames())) if (errors.push(error) === maxErrors) break;
  const matchers = await compileEntryPatterns('/guidelines', guidelines, fold, context, errors);
  if (guidelines.length === 0) warn(`${nodeName} has no guideline: this SelectTools never selects a tool`);
  for (const [index, { name, patterns = [] }] of guidelines.entries()) {
    if (match === 'model' || patterns.length > 0) continue;
    const place = describeParam(nodeName, `/guidelines/${index}`);
    warn(`${place} has no patterns: the guideline "${name}" never matches; add patterns, or set match to "model"`);
  }
  return matchers;
}

function* findErrors({ guidelines, match }: Params, declared: ReadonlySet<string> | undefined): Generator<SchemaError> {
  const names = guidelines.map(({ name }) => name);
  for (const [index, { name, when, tools }] of guidelines.entries()) {
    const pointer = `/guidelines/${index}`;
    const first = names.indexOf(name);
    if (first < index)
      yield { pointer: `${pointer}/name`, message: `is the name of guidelines[${first}], too; give it another one` };
    if (match === 'model' && when === undefined)
      yield {
        pointer,
        message: 'has no "when": with match "model" it is the condition that the model decides; add it',
      };
    for (const [position, tool] of tools.entries()) {
      if (declared?.has(tool) !== false) continue;
      const hint = declared.size > maxCompared ? '' : didYouMean(tool, declared);
      const message = `is no tool that a node of the graph declares: "${tool}"${hint}`;
      yield { pointer: `${pointer}/tools/${position}`, message };
    }
  }
}

async function matchesTurn(turn: Turn, matcher: PatternMatcher | undefined): Promise<boolean> {
  const results = answeredCalls(turn.exchanges).flatMap((call) => [call.content, resultLine(call)]);
  for (const text of [turn.message, ...results])
    if ((await matcher?.match(text, turn.signal)) !== undefined) return true;
  return false;
}

/** The tools that guidelines bring, in their order; a tool of several counts for the first. */
function toolsOf(guidelines: readonly Guideline[]): readonly SelectedTool[] {
  const because = new Map<string, string>();
  for (const { name, tools } of guidelines) for (const tool of tools) if (!because.has(tool)) because.set(tool, name);
  return [...because].map(([name, guideline]) => ({ name, because: guideline }));
}

const namesOf = (tools: readonly SelectedTool[]): readonly string[] => tools.map(({ name }) => name);

const systemPrompt = "Read the user's message and decide whether a condition holds. Reply with yes or no only.";

/** A question that a model answers with yes or no. The condition is last, so that all conditions share a prefix. */
function questionOf(turn: Turn, condition: string) {
  const results = answeredCalls(turn.exchanges).map(
    (call) => `Results: ${call.name} ${stringifyJson(call.arguments)}: ${resultContent(call)}`,
  );
  const text = [`Message: ${turn.message}`, ...results, `Condition: ${oneLine(condition)}`].join('\n');
  return { system: systemPrompt, current: [{ role: 'user', text }] } as const;
}

const probabilityOfYes = ([yes = 0, no = 0]: readonly number[]): number => 1 / (1 + Math.exp(no - yes));
