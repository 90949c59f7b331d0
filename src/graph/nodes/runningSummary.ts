import type { Interaction } from '../../chat/dialog.ts';
import type { Model } from '../../inference/contract/engine.ts';
import type { ModelLease } from '../../inference/models/pool/lease.ts';
import { Fault } from '../../protocol/fault.ts';
import type { FromSchema } from '../../protocol/schema.ts';
import { boolean, integer, type partialObject } from '../../protocol/schemaBuilders.ts';
import type { NodeContext } from '../compile/node.ts';
import type { Turn } from '../compile/turn.ts';
import { toMessages } from '../projection/tokenBudget.ts';
import { completeAside } from './sideInference.ts';

export const summaryParams = {
  summary: boolean(
    { default: false },
    'Whether a running summary, first in the prompt, stands for the interactions that do not fit into it. It is made in the background.',
  ),
  summary_tokens: integer({ minimum: 16, maximum: 4096, default: 160 }, 'Largest number of tokens of the summary.'),
} as const;

export type SummaryParams = FromSchema<ReturnType<typeof partialObject<typeof summaryParams>>>;

// Tokens of the context for our own words around the summary and the lines, and at least for the lines.
const instructionTokens = 192;
const minLineTokens = 64;

/**
 * Makes the running summary of one node, with the model of the node and in a sequence of its own. Warns when the context has
 * no room for so long a summary: it is shorter then.
 * @returns what adds interactions to it in the background. Until then, and if that fails, prompts have the old one.
 */
export function createSummarizer(
  lease: ModelLease,
  { nodeName, warn }: Pick<NodeContext, 'nodeName' | 'warn'>,
  wantedTokens: number,
): (turn: Turn, due: readonly Interaction[]) => void {
  const { model } = lease;
  const { contextSize } = model;
  const allowed = Math.max(16, Math.floor((contextSize - instructionTokens - minLineTokens) / 2));
  if (wantedTokens > allowed)
    warn(
      `${nodeName}.params.summary_tokens is ${wantedTokens}, and a context of ${contextSize} tokens has room for ${allowed}: the summary has no more; lower it, or raise context_size`,
    );
  const maxTokens = Math.min(wantedTokens, allowed);
  return (turn, due) => {
    if (due.length === 0) return;
    const planned = turn.summaries.get(nodeName);
    turn.later(`the summary of ${nodeName}`, async ({ signal, schedule }) => {
      let summary = turn.summaries.get(nodeName);
      const known = summary?.last ? due.indexOf(summary.last) : -1;
      if (known < 0 && summary !== planned) return;
      let rest = due.slice(known + 1);
      while (rest.length > 0 && !signal.aborted) {
        const { lines, count } = await nextLines(model, rest, maxTokens);
        // That of a saved dialog may be longer than its model has been allowed here.
        const former = await cutText(model, summary?.text ?? '', maxTokens);
        const { text } = await completeAside({
          lease,
          label: `${nodeName}.summary`,
          system: instruction(maxTokens),
          user: `${former === '' ? '' : `Summary so far:\n${former}\n\n`}New lines:\n${lines}\n\nThe new summary:`,
          maxTokens,
          signal,
          schedule,
        });
        if (signal.aborted) return;
        if (text === '') throw new Fault('INFERENCE_FAILED', noSummary);
        summary = { text, interactions: (summary?.interactions ?? 0) + count, last: rest[count - 1] };
        turn.summaries.set(nodeName, summary);
        rest = rest.slice(count);
      }
    });
  };
}

/** As many of the interactions as one prompt has room for, at least one, as lines; a very long one is cut. */
async function nextLines(model: Model, interactions: readonly Interaction[], maxTokens: number) {
  const { contextSize, overhead } = model;
  const fixed = 2 * maxTokens + instructionTokens + overhead.prompt + 2 * overhead.message;
  const room = Math.max(16, contextSize - fixed);
  const lines: string[] = [];
  let tokens = 0;
  for (const interaction of interactions) {
    const text = toMessages(interaction)
      .map((message) => `${speakers[message.role]}: ${message.text}`)
      .join('\n');
    const [size = 0] = await model.count([text]);
    tokens += size + 1;
    if (tokens > room && lines.length > 0) break;
    lines.push(tokens > room ? await cutText(model, text, room) : text);
  }
  return { lines: lines.join('\n'), count: lines.length };
}

/** The beginning of a text that has at most so many tokens. */
async function cutText(model: Model, text: string, tokens: number): Promise<string> {
  for (let cut = text; ;) {
    const [size = 0] = await model.count([cut]);
    if (size <= tokens || cut === '') return cut;
    // A model may have stopped counting.
    cut = cut.slice(0, Math.floor(cut.length * Math.max(0, Math.min(0.9, tokens / size))));
  }
}

const noSummary = 'the model wrote no summary; choose another model, or raise summary_tokens';

const speakers = { user: 'User', assistant: 'Assistant', system: 'Note' } as const;

// English text has about three words for four tokens; other languages have fewer.
const instruction = (tokens: number): string =>
  `You keep the summary of a conversation. Rewrite it so that it has what the new lines add: who the people are, what they ` +
  `want, what happened, what was promised. Keep names, numbers and places. Add nothing that was not said. Write plain ` +
  `sentences in the language of the conversation, at most ${Math.floor(tokens * 0.6)} words, and nothing else.`;
