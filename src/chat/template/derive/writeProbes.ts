import { describeError } from '../../../protocol/fault.ts';
import { parseJsonAt } from '../../json/lenientParser.ts';
import { isJsonObject, stringifyJson } from '../../json/value.ts';
import type { SampleCall } from './samples.ts';
import type { WrittenProbe } from './prove.ts';
import type { WrittenCall } from '../../calls.ts';
import { isBasic, plainProbe, probeTools, type ToolProbe } from './probes.ts';
import type { ProbeRenderer } from './renderProbe.ts';

/**
 * What a template writes for probes, and for a message without calls.
 * @param write throws where the template refuses a probe.
 */
export function writeProbes(
  probes: readonly ToolProbe[],
  write: (probe: ToolProbe) => string,
  plain: string,
): readonly WrittenProbe[] {
  const written = probes.map((probe): WrittenProbe => {
    const { name, required, calls, tools, text, reasoning } = probe;
    const startsWithCall = text === undefined && reasoning === undefined;
    const common = { name, required, isBasic: isBasic(probe), calls, tools, startsWithCall };
    try {
      return { ...common, text: write(probe), refusal: '' };
    } catch (error) {
      return { ...common, text: undefined, refusal: describeError(error) };
    }
  });
  const withoutCalls = { calls: [], tools: probeTools, startsWithCall: false, text: plain, refusal: '' };
  return [...written, { name: 'a message without calls', required: true, isBasic: true, ...withoutCalls }];
}

/** What a template writes for the message without calls. */
export const plainText = (renderer: ProbeRenderer): string => renderer.answer(plainProbe);

/** A call of a probe, to be written in a layout. */
export function toWrittenCall({ id, name, arguments: args }: SampleCall): WrittenCall {
  const parsed = parseJsonAt(stringifyJson(args), 0);
  return { id, name, arguments: parsed.ok && isJsonObject(parsed.value) ? parsed.value : new Map() };
}
