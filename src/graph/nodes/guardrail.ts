import { liveParams } from '../compile/liveParams.ts';
import { describeParam } from '../compile/document.ts';
import { defineNode, type NodeContext, routingEffects } from '../compile/node.ts';
import { compilePatterns } from '../storage/patternSet.ts';
import {
  foldParam,
  invalidStrings,
  stringParams,
  resolveStrings,
  type ResolvedStorage,
  toParamError,
} from './stringParams.ts';
import { boolean, partialObject, string } from '../../protocol/schemaBuilders.ts';

export const guardrail = defineNode({
  type: 'Guardrail',
  summary: 'Matches the message or the answer against patterns, in time linear in its length.',
  params: partialObject({
    ...stringParams('Regular expressions (RE2 syntax), matched anywhere, case-insensitive'),
    watch: string(
      { enum: ['message', 'answer'], default: 'message', live: true },
      'message: what the user wrote; answer: what this turn has sent or held so far.',
    ),
    fold: foldParam,
    forget: boolean(
      { default: false },
      'When it triggers, later prompts do not have this turn. The dialog of the client keeps it, with the mark "forgotten".',
    ),
  }),
  exits: ['triggered', 'not_triggered'],
  effects({ watch, forget, ...params }) {
    const guards = { watch, exit: 'not_triggered', patterns: params.inline_strings.length };
    return {
      ...routingEffects,
      guards,
      silentExits: ['triggered', 'not_triggered'],
      informsLaterNodes: forget,
      async refine(context) {
        const { list } = (await resolveStrings(params, context)).storage;
        return { guards: { ...guards, patterns: list.length }, unusedExits: list.length === 0 ? ['triggered'] : [] };
      },
    };
  },
  async create({ fold, forget, ...params }, context) {
    const settings = await liveParams(params, async (current) => {
      const strings = await resolveStrings(current, context);
      const { list } = strings.storage;
      const patterns = await compilePatterns(list, fold);
      if (!patterns.ok) throw invalidStrings(strings, patterns.errors);
      if (list.length === 0) context.warn(`${context.nodeName} has no pattern: this Guardrail never triggers`);
      context.setMade(patterns.value, patterns.value.bytes);
      warnOfMatchAll(strings, patterns.value.matchAll, context);
      return { patterns: patterns.value, watch: current.watch };
    });
    return {
      async run(turn) {
        const { patterns, watch } = settings.current;
        const texts = watch === 'message' ? [turn.message] : [turn.answer, turn.shownAnswer];
        let index: number | undefined;
        for (const text of new Set(texts)) index ??= await patterns.match(text, turn.signal);
        if (index === undefined) return 'not_triggered';
        turn.emitEvent('guardrail_triggered', { index });
        if (forget) turn.forget();
        return 'triggered';
      },
      change: settings.change,
    };
  },
});

const maxNamedPatterns = 3;

function warnOfMatchAll(strings: ResolvedStorage, indexes: readonly number[], { nodeName, warn }: NodeContext): void {
  for (const index of indexes.slice(0, maxNamedPatterns)) {
    const pattern = JSON.stringify(strings.storage.list[index]);
    const message = `matches every text, so that this Guardrail always triggers: ${pattern}`;
    const error = toParamError(strings, { pointer: `/${index}`, message });
    warn(`${describeParam(nodeName, error.pointer)} ${error.message}`);
  }
  if (indexes.length > maxNamedPatterns)
    warn(`${nodeName} has ${indexes.length - maxNamedPatterns} more patterns that match every text`);
}
