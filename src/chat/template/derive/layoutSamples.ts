import type { ReplyMarks } from '../../replyMarks.ts';
import type { CallSample, LayoutSamples } from './samples.ts';
import { layoutProbes, plainProbe, type ToolProbe } from './probes.ts';
import type { ProbeRenderer } from './renderProbe.ts';

/** The messages from which the layout of a template's calls is derived. @throws Error when it refuses a single call. */
export function layoutSamples(renderer: ProbeRenderer, marks: ReplyMarks): LayoutSamples {
  const sample = (probe: ToolProbe): CallSample => ({ text: renderer.calls(probe), calls: probe.calls });
  const optional = (probe: ToolProbe): CallSample | undefined => {
    try {
      const written = sample(probe);
      return probe.calls.every(({ name }) => written.text.includes(name)) ? written : undefined;
    } catch {
      return undefined;
    }
  };
  const { afterText, afterReasoning } = layoutProbes;
  const preceded = [
    { written: optional(afterText), preceding: afterText.text },
    { written: optional(afterReasoning), preceding: afterReasoning.reasoning },
  ].flatMap(({ written, preceding }) => (written?.text.includes(preceding) ? [{ text: written.text, preceding }] : []));
  return {
    one: sample(layoutProbes.one),
    empty: optional(layoutProbes.empty),
    two: optional(layoutProbes.two),
    list: optional(layoutProbes.list),
    literals: optional(layoutProbes.literals) ?? optional(layoutProbes.booleans),
    plain: { text: renderer.answer(plainProbe), answer: plainProbe },
    preceded,
    marks,
  };
}
