import { liveParams } from '../graph/liveParams.ts';
import { defineNode } from '../graph/node.ts';
import { compileTemplate } from '../graph/template.ts';
import { invalidStrings, stringParams, resolveStrings, type ResolvedStrings } from './stringParams.ts';

/** Says one of a list of lines, without a model. */
export const cannedResponse = defineNode({
  type: 'CannedResponse',
  summary: 'Says one line of a list, without a model; it takes the place of a held answer.',
  params: {
    type: 'object',
    additionalProperties: false,
    properties: {
      ...stringParams('The lines, each a template'),
      selection_strategy: {
        type: 'string',
        enum: ['random', 'first', 'in_turn'],
        default: 'random',
        live: true,
        description: 'Which line: one at random, always the first, or one after the other.',
      },
    },
  },
  exits: ['default'],
  async create(params, context) {
    const settings = await liveParams(params, async (given) => {
      const strings = await resolveStrings(given, context);
      return { lines: compileLines(strings, context.nodeName), strategy: given.selection_strategy };
    });
    let said = 0;
    const choose = {
      random: (count: number) => Math.floor(Math.random() * count),
      first: () => 0,
      in_turn: (count: number) => said++ % count,
    };
    return {
      async run(turn) {
        const { lines, strategy } = settings.current;
        turn.release();
        turn.sendText(lines[choose[strategy](lines.length)]?.render(turn) ?? '', 'whole');
        return 'default';
      },
      change: settings.change,
    };
  },
});

function compileLines(strings: ResolvedStrings, nodeName: string) {
  if (strings.list.length === 0)
    throw invalidStrings(strings, [{ pointer: '', message: 'has no line to say; add at least one' }]);
  return strings.list.map((line, index) => {
    const template = compileTemplate(line, `${nodeName}, line ${index}`);
    if (!template.ok)
      throw invalidStrings(
        strings,
        template.errors.map(({ message }) => ({ pointer: `/${index}`, message })),
      );
    return template.value;
  });
}
