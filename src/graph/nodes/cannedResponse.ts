import { runChunk } from '../../base/eventLoop.ts';
import { templateParam, warnOfUnknownNames } from '../compile/graphDeclarations.ts';
import { liveParams } from '../compile/liveParams.ts';
import { defineNode, InvalidParams, type NodeContext, routingEffects } from '../compile/node.ts';
import { showsCalls, shownFields, compileTemplate, type Template } from '../compile/template.ts';
import type { Turn } from '../compile/turn.ts';
import { sizeOf } from '../storage/sessionMemory.ts';
import { invalidStrings, stringParams, resolveStrings, type ResolvedStorage } from './stringParams.ts';
import { errorsBelow } from '../../protocol/schema.ts';
import { partialObject, string } from '../../protocol/schemaBuilders.ts';

export const cannedResponse = defineNode({
  type: 'CannedResponse',
  summary: 'Sends one line of a list, or that of a key, without a model; it replaces a held answer.',
  params: partialObject({
    ...stringParams('The lines, each a template'),
    selection_strategy: string(
      { enum: ['random', 'first', 'in_turn'], default: 'random', live: true },
      'Which line: one at random, always the first, or one after the other.',
    ),
    key: string(
      { minLength: 1, live: true },
      'With a MAP storage: a template of the key whose line is sent; the exit is missing if there is none.',
    ),
  }),
  exits: ['default', 'missing'],
  needs: { 'exits.missing': 'key' },
  effects: (params) => ({
    ...routingEffects,
    held: 'discarded',
    silentExits: ['missing'],
    unusedExits: params.key === undefined ? ['missing'] : [],
    showsCalls: true,
    async refine(context) {
      const { storage } = await resolveStrings(params, context);
      return { showsCalls: storage.list.some(showsCalls), showsFields: storage.list.flatMap(shownFields) };
    },
  }),
  async create(params, context) {
    const settings = await liveParams(params, async (current) => {
      const strings = await resolveStrings(current, context);
      const lines = await compileLines(strings, context);
      return { lines, strategy: current.selection_strategy, findKey: readKey(current, strings, context) };
    });
    let linesSent = 0;
    const chooseLine = {
      random: (count: number) => Math.floor(Math.random() * count),
      first: () => 0,
      in_turn: (count: number) => linesSent++ % count,
    };
    return {
      async run(turn) {
        const { lines, strategy, findKey } = settings.current;
        turn.release();
        const line = lines[findKey ? findKey(turn) : chooseLine[strategy](lines.length)];
        if (!line) return 'missing';
        turn.say(line.render(turn), 'whole');
        return 'default';
      },
      change: settings.change,
    };
  },
});

/** What finds the line of a key, or -1; undefined: the node has no key. @throws InvalidParams */
function readKey(
  { key, selection_strategy }: { readonly key?: string; readonly selection_strategy: string },
  { storage: { kind, keys } }: ResolvedStorage,
  context: NodeContext,
): ((turn: Turn) => number) | undefined {
  if (key === undefined) return undefined;
  if (kind !== 'MAP') {
    const message = `needs a MAP storage, and the lines are a ${kind}; name a .json file of keys and lines as string_storage, or remove key`;
    throw new InvalidParams([{ pointer: '/key', message }]);
  }
  if (selection_strategy !== 'random')
    context.warn(`${context.nodeName}.params.selection_strategy is not used: the key chooses the line`);
  const template = templateParam('key', key, context);
  const indexes = new Map(keys.map((name, index) => [name, index]));
  return (turn) => indexes.get(template.render(turn)) ?? -1;
}

async function compileLines(strings: ResolvedStorage, context: NodeContext) {
  const { list } = strings.storage;
  if (list.length === 0) throw invalidStrings(strings, [{ pointer: '', message: 'is empty; add at least one line' }]);
  const lines: Template[] = [];
  for (const [index, line] of list.entries()) {
    const place = `${context.nodeName}, line ${index}`;
    const template = await runChunk(() => compileTemplate(line, place));
    if (!template.ok) throw invalidStrings(strings, errorsBelow(`/${index}`, template.errors));
    warnOfUnknownNames(template.value, place, context);
    lines.push(template.value);
  }
  context.setMade(lines, sizeOf(list));
  return lines;
}
