import { runChunk } from '../../base/eventLoop.ts';
import { warnOfUnknownKnowledge } from '../compile/graphDeclarations.ts';
import { liveParams } from '../compile/liveParams.ts';
import { defineNode, type NodeContext, routingEffects } from '../compile/node.ts';
import { showsCalls, compileTemplate, type Template } from '../compile/template.ts';
import { sizeOf } from '../storage/sessionMemory.ts';
import { invalidStrings, stringParams, resolveStrings, type ResolvedStrings } from './stringParams.ts';
import { partialObject, string } from '../../protocol/schemaBuilders.ts';

/** The CannedResponse node: sends one of a list of lines as the answer, without a model. */
export const cannedResponse = defineNode({
  type: 'CannedResponse',
  summary: 'Sends one line of a list, without a model; it replaces a held answer.',
  params: partialObject({
    ...stringParams('The lines, each a template'),
    selection_strategy: string(
      { enum: ['random', 'first', 'in_turn'], default: 'random', live: true },
      'Which line: one at random, always the first, or one after the other.',
    ),
  }),
  exits: ['default'],
  effects: (params) => ({
    ...routingEffects,
    held: 'discarded',
    showsCalls: true,
    async refine(context) {
      const { list } = await resolveStrings(params, context);
      return { showsCalls: list.some(showsCalls) };
    },
  }),
  async create(params, context) {
    const settings = await liveParams(params, async (current) => {
      const strings = await resolveStrings(current, context);
      return { lines: await compileLines(strings, context), strategy: current.selection_strategy };
    });
    let linesSent = 0;
    const chooseLine = {
      random: (count: number) => Math.floor(Math.random() * count),
      first: () => 0,
      in_turn: (count: number) => linesSent++ % count,
    };
    return {
      async run(turn) {
        const { lines, strategy } = settings.current;
        turn.release();
        turn.say(lines[chooseLine[strategy](lines.length)]?.render(turn) ?? '', 'whole');
        return 'default';
      },
      change: settings.change,
    };
  },
});

async function compileLines(strings: ResolvedStrings, context: NodeContext) {
  if (strings.list.length === 0)
    throw invalidStrings(strings, [{ pointer: '', message: 'is empty; add at least one line' }]);
  const lines: Template[] = [];
  for (const [index, line] of strings.list.entries()) {
    const place = `${context.nodeName}, line ${index}`;
    const template = await runChunk(() => compileTemplate(line, place));
    if (!template.ok)
      throw invalidStrings(
        strings,
        template.errors.map(({ message }) => ({ pointer: `/${index}`, message })),
      );
    warnOfUnknownKnowledge(template.value, place, context);
    lines.push(template.value);
  }
  context.setMade(lines, sizeOf(strings.list));
  return lines;
}
