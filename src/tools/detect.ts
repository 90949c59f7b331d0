import { bareCalls } from './bare.ts';
import type { Findings } from './findings.ts';
import { reasoningOf } from './reasoning.ts';
import { residualOf } from './residual.ts';
import type { CallKeys } from './shape.ts';
import { taggedCalls } from './tagged.ts';
import type { Detection } from './tool.ts';

/**
 * Finds the calls in the whole text of a model, whose format writes them under the given keys. Takes time in
 * proportion to the text's length and never throws, whatever the text.
 */
export function detect(text: string, keys: CallKeys): Detection {
  const past = reasoningOf(text);
  const tagged = taggedCalls(text, keys, past);
  if (tagged.found.length > 0) return detection(text, tagged);
  const bare = bareCalls(text.slice(0, tagged.cutAt), keys, past);
  return detection(text, { found: bare.found, cutAt: tagged.cutAt ?? bare.cutAt });
}

const detection = (text: string, { found, cutAt }: Findings): Detection => ({
  calls: found.flatMap(({ calls }) => calls),
  residual: residualOf(text, found),
  truncated: cutAt !== undefined,
});
