import { describeError } from '../../fault.ts';
import type { Formats } from '../../tools/formats/index.ts';
import { deriveLayout } from '../../tools/native/derive/deriveLayout.ts';
import type { CallLayout } from '../../tools/native/layout.ts';
import { knownLayouts } from '../../tools/native/knownLayouts.ts';
import { nativeFormat, nativeFormatName } from '../../tools/native/nativeFormat.ts';
import { isProved, prove, type WrittenProbe } from '../../tools/native/proof/prove.ts';
import type { CallConvention, ProbeVerdict, ToolDialect } from '../../tools/native/toolDialect.ts';
import { writeCalls } from '../../tools/native/writeCalls.ts';
import type { ToolCallFormat } from '../../tools/tool.ts';
import type { RenderTemplate } from '../templateInput.ts';
import { layoutSamples } from './layoutSamples.ts';
import { layoutProbes, marksOf, probeTools, proofProbes, type ToolProbe } from './probes.ts';
import { ProbeRenderer } from './renderProbe.ts';
import { plainText, toWrittenCall, writeProbes } from './writeProbes.ts';

const anyConvention: CallConvention = { arguments: 'object', content: '', ids: 'any' };

// In the order in which they are tried: the first in which a template writes calls as they are.
const conventions: readonly CallConvention[] = [
  anyConvention,
  { arguments: 'string', content: '', ids: 'any' },
  { arguments: 'object', content: null, ids: 'any' },
  { arguments: 'string', content: null, ids: 'any' },
  { arguments: 'object', content: '', ids: 'functions' },
];

/**
 * Reads the tool-call dialect off a chat template: renders probes, derives the layout of calls, and proves which format
 * gives the calls back. A format that fails the proof is not used.
 * @param formats the formats that are tried before the template's own layout.
 */
export function readToolDialect(render: RenderTemplate, formats: Formats): ToolDialect {
  const failures: string[] = [];
  for (const convention of conventions) {
    try {
      const renderer = new ProbeRenderer(render, convention);
      const layout = deriveLayout(layoutSamples(renderer));
      const written = writeProbes(proofProbes(marksOf(layout)), (probe) => renderer.calls(probe), plainText(renderer));
      return chooseProved(written, { layout, convention, formats, knows: knowsTools(render) });
    } catch (error) {
      failures.push(describeError(error));
    }
  }
  const [because = ''] = failures;
  return readSilentTemplate(render, formats) ?? unknownDialect(because, knowsTools(render));
}

/** A template that shows tools to the model, but leaves calls out of the history: its layout can only be known. */
function readSilentTemplate(render: RenderTemplate, formats: Formats): ToolDialect | undefined {
  try {
    if (!knowsTools(render)) return undefined;
    const renderer = new ProbeRenderer(render, anyConvention);
    const prompt = renderer.prompt();
    const known = knownLayouts.find(({ isShownIn }) => isShownIn(prompt));
    if (!known) return undefined;
    const { layout } = known;
    const write = ({ calls, text = '' }: ToolProbe): string =>
      renderer.answer(text + writeCalls(calls.map(toWrittenCall), layout));
    const probes = proofProbes(marksOf(layout)).filter(({ reasoning, result }) => (reasoning ?? result) === undefined);
    const written = writeProbes(probes, write, plainText(renderer));
    const dialect = chooseProved(written, { layout, convention: undefined, formats, knows: true });
    const because = `its chat template leaves calls out, and its prompt is that of ${known.family}`;
    return { ...dialect, because: dialect.format === undefined ? dialect.because : because };
  } catch {
    return undefined;
  }
}

/** Whether a template writes the declarations of tools. */
export function knowsTools(render: RenderTemplate): boolean {
  try {
    return new ProbeRenderer(render, anyConvention).prompt().includes(probeTools[0]?.name ?? '');
  } catch {
    return false;
  }
}

const unknownDialect = (because: string, knows: boolean): ToolDialect => ({
  format: undefined,
  because: knows ? `its chat template shows no calls: ${because}` : 'its chat template knows no tools',
  knowsTools: knows,
  layout: undefined,
  convention: undefined,
  probes: [{ name: layoutProbes.one.name, required: true, ok: false, why: because }],
});

interface Derived {
  readonly layout: CallLayout;
  readonly convention: CallConvention | undefined;
  readonly formats: Formats;
  readonly knows: boolean;
}

function chooseProved(written: readonly WrittenProbe[], { layout, convention, formats, knows }: Derived): ToolDialect {
  const verify = (format: ToolCallFormat): readonly ProbeVerdict[] => prove(format, written);
  const native = verify(nativeFormat(layout));
  const common = { knowsTools: knows, layout: isProved(native) ? layout : undefined, convention };
  for (const format of formats.values()) {
    const probes = verify(format);
    if (isProved(probes)) return { ...common, format: format.name, because: 'its chat template proves it', probes };
  }
  const failure = native.find(({ required, ok }) => required && !ok);
  if (failure) {
    const because = `its chat template proves no format: ${failure.name} ${failure.why}`;
    return { ...common, format: undefined, because, probes: native };
  }
  const because = 'its chat template has a layout of its own, which proved itself';
  return { ...common, format: nativeFormatName, because, probes: native };
}
