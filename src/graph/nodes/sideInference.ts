import type { Message } from '../../chat/dialog.ts';
import type { CallGrammar } from '../../chat/grammar/rule.ts';
import { splitReply } from '../../chat/reply/reasoning/splitReply.ts';
import type { Completion, GenerateOptions } from '../../inference/contract/engine.ts';
import type { SamplingParams } from '../../inference/contract/samplingParams.ts';
import type { ModelLease } from '../../inference/models/pool/lease.ts';
import type { BackgroundRun } from '../compile/turn.ts';

/** An inference that is no part of the dialog. */
export interface SideInference
  extends Pick<BackgroundRun, 'signal' | 'schedule'>, Pick<GenerateOptions, 'message' | 'inference' | 'transcript'> {
  readonly lease: ModelLease;
  /** Name of its sequence, for diagnostics and scripted engines. */
  readonly label: string;
  readonly system: string;
  readonly user: string;
  readonly maxTokens: number;
  readonly grammar?: CallGrammar;
}

/** Generates a text at temperature 0, without reasoning, in a sequence of its own that frees its slot. */
export async function completeAside({
  lease: { model, defaultSampling },
  label,
  system,
  user,
  maxTokens,
  schedule,
  ...options
}: SideInference): Promise<Completion & { readonly sampling: SamplingParams }> {
  const messages: readonly Message[] = [
    { role: 'system', text: system },
    { role: 'user', text: user },
  ];
  const sampling = { ...defaultSampling, temperature: 0, stop: [], max_tokens: maxTokens };
  await using sequence = model.openSequence({ label });
  const prompt = { messages, thinking: false };
  const completion = await sequence.generate(prompt, { ...options, ...schedule, sampling, maxThinkingTokens: 0 });
  return { ...completion, sampling, text: splitReply(completion.text, model.replyMarks).content.trim() };
}
