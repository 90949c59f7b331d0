import { live } from '../graph/liveParams.ts';
import { defineNode } from '../graph/node.ts';
import { compilePatterns } from '../storage/patternSet.ts';
import { refuseStrings, stringParams, stringsOf } from './stringParams.ts';

/** Sends a turn another way when the message, or the answer so far, matches a pattern. */
export const guardrail = defineNode({
  type: 'Guardrail',
  summary: 'Watches the message or the answer for patterns, in time linear in its length.',
  params: {
    type: 'object',
    additionalProperties: false,
    properties: {
      ...stringParams('Regular expressions (RE2 syntax), matched anywhere, case-insensitive'),
      watch: {
        type: 'string',
        enum: ['message', 'answer'],
        default: 'message',
        live: true,
        description: 'message: what the user wrote; answer: what this turn has said or held so far.',
      },
    },
  },
  exits: ['triggered', 'not_triggered'],
  async create(params, supplies) {
    const settings = await live(params, async (given) => {
      const strings = await stringsOf(given, supplies);
      const patterns = await compilePatterns(strings.list);
      if (!patterns.ok) throw refuseStrings(strings, patterns.refusals);
      if (strings.list.length === 0)
        supplies.warn(`${supplies.nodeName} has no pattern: this Guardrail never triggers`);
      return { patterns: patterns.value, watch: given.watch };
    });
    return {
      async run(turn) {
        const { patterns, watch } = settings.now;
        const index = await patterns.match(watch === 'message' ? turn.message : turn.answer, turn.signal);
        if (index === undefined) return 'not_triggered';
        turn.tell('guardrail_triggered', { pattern_index: index });
        return 'triggered';
      },
      change: settings.change,
    };
  },
});
