import { LruCache } from '../../../base/lruCache.ts';
import { formats, type Formats } from '../../formats/index.ts';
import { noDialect, type CallConvention, type CallMessageForm, type ToolDialect } from '../../dialect/toolDialect.ts';
import { defaultReplyMarks, type ReplyMarks } from '../../replyMarks.ts';
import type { TotalStepBudget } from '../jinja/stepBudget.ts';
import { type RenderTemplate, unlessRefused } from '../templateInput.ts';
import { describeError } from '../../../protocol/fault.ts';
import { type CandidateLayouts, deriveLayouts } from './deriveLayout.ts';
import type { CallLayout } from '../../dialect/layout.ts';
import { knownLayouts } from '../../dialect/knownLayouts.ts';
import { nativeFormat, nativeFormatName, writeCalls } from '../../dialect/nativeFormat.ts';
import { FormatProof, type WrittenProbe } from './prove.ts';
import { layoutSamples, ProbeRenderer, writeProbes } from './renderProbe.ts';
import { toWrittenCall } from '../templateMessages.ts';
import { layoutProbes, marksOf, probeTools, proofProbes, type ToolProbe } from './probes.ts';

const anyForm: CallMessageForm = { arguments: 'object', content: '', ids: 'any' };

// In the order in which they are tried: the first in which a template writes calls as they are.
const forms: readonly CallMessageForm[] = [
  anyForm,
  { arguments: 'string', content: '', ids: 'any' },
  { arguments: 'object', content: null, ids: 'any' },
  { arguments: 'string', content: null, ids: 'any' },
  { arguments: 'object', content: '', ids: 'functions' },
];

/**
 * Reads the tool-call dialect off a chat template: renders probes, derives the layout of calls, and proves which format
 * gives the calls back. A format that fails the proof is not used.
 * @param formats the formats that are tried before the template's own layout.
 * @param marks those of the template's replies.
 */
export function readToolDialect(
  render: RenderTemplate,
  formats: Formats,
  marks: ReplyMarks = defaultReplyMarks,
): ToolDialect {
  const failures: string[] = [];
  const writing: ProbeRenderer[] = [];
  for (const form of forms) {
    try {
      const renderer = new ProbeRenderer(render, form);
      if (!renderer.writesCalls()) continue;
      writing.push(renderer);
      const layouts = deriveLayouts(layoutSamples(renderer, marks));
      const probes = proofProbes(marksOf(layouts[0]));
      const written = writeProbes(probes, renderer);
      const layout = firstProved(layouts, written, marks);
      const convention = renderer.convention();
      return chooseProved(written, { layout, convention, formats, knows: knowsTools(render), renderer, marks });
    } catch (error) {
      failures.push(describeError(error));
    }
  }
  const [because = 'the message has no call'] = failures;
  const [first] = writing;
  return (first ? undefined : readSilentTemplate(render, formats, marks)) ?? unknownDialect(because, render, first);
}

function firstProved(layouts: CandidateLayouts, written: readonly WrittenProbe[], marks: ReplyMarks): CallLayout {
  const holds = (layout: CallLayout): boolean => new FormatProof(nativeFormat(layout), written, marks).holds();
  const [first, ...others] = layouts;
  return others.length === 0 || holds(first) ? first : (others.find(holds) ?? first);
}

/** A template that shows tools to the model, but leaves calls out of the history: its layout can only be known. */
function readSilentTemplate(render: RenderTemplate, formats: Formats, marks: ReplyMarks): ToolDialect | undefined {
  if (!knowsTools(render)) return undefined;
  return unlessRefused(() => {
    const renderer = new ProbeRenderer(render, anyForm);
    const prompt = renderer.prompt();
    const known = knownLayouts.find(({ isShownIn }) => isShownIn(prompt));
    if (!known) return undefined;
    const { layout } = known;
    const write = ({ calls, text = '' }: ToolProbe): string =>
      renderer.answer(text + writeCalls(calls.map(toWrittenCall), layout));
    const probes = proofProbes(marksOf(layout)).filter(({ reasoning, result }) => (reasoning ?? result) === undefined);
    const written = writeProbes(probes, renderer, write);
    const dialect = chooseProved(written, { layout, convention: undefined, formats, knows: true, renderer, marks });
    const because = `its chat template leaves calls out, and its prompt is that of ${known.family}`;
    return { ...dialect, because: dialect.format === undefined ? dialect.because : because };
  });
}

const knowsTools = (render: RenderTemplate): boolean =>
  unlessRefused(() => new ProbeRenderer(render, anyForm).prompt())?.includes(probeTools[0]?.name ?? '') ?? false;

/** A template whose calls cannot be read; `renderer`: in which convention it writes them, if in one. */
function unknownDialect(why: string, render: RenderTemplate, renderer: ProbeRenderer | undefined): ToolDialect {
  const knows = knowsTools(render);
  return {
    ...noDialect(knows ? `its chat template shows no calls: ${why}` : 'its chat template knows no tools'),
    knowsTools: knows,
    convention: renderer?.convention(),
    writesResults: (renderer ?? new ProbeRenderer(render, anyForm)).writesResults(renderer !== undefined),
    probes: [{ name: layoutProbes.one.name, required: true, ok: false, why }],
  };
}

interface Derived {
  readonly layout: CallLayout;
  readonly convention: CallConvention | undefined;
  readonly formats: Formats;
  readonly knows: boolean;
  readonly renderer: ProbeRenderer;
  readonly marks: ReplyMarks;
}

function chooseProved(
  written: readonly WrittenProbe[],
  { layout, convention, formats, knows, renderer, marks }: Derived,
): ToolDialect {
  const native = new FormatProof(nativeFormat(layout), written, marks).verdicts();
  const failure = native.find(({ required, ok }) => required && !ok);
  const common = {
    knowsTools: knows,
    layout: failure ? undefined : layout,
    convention,
    writesResults: renderer.writesResults(convention !== undefined),
  };
  for (const format of formats.values()) {
    const proof = new FormatProof(format, written, marks);
    if (!proof.holds()) continue;
    return { ...common, format: format.name, because: 'its chat template proves it', probes: proof.verdicts() };
  }
  if (failure) {
    // Without the text of the template, which the probe has.
    const [why = ''] = failure.why.split(': "');
    const because = `its chat template proves no format: ${failure.name} ${why}`;
    return { ...common, format: undefined, because, probes: native };
  }
  const because = 'its chat template has a layout of its own, which proved itself';
  return { ...common, format: nativeFormatName, because, probes: native };
}

// Models are loaded again after they were unloaded, and several files of a family have the same template.
const dialects = new LruCache<ToolDialect>({ maxEntries: 32 });

/** A template's dialect, read once for each text. @param total its steps. @throws Error when they are used up. */
export function toolDialectOf(
  source: string,
  render: RenderTemplate,
  marks: ReplyMarks,
  total?: TotalStepBudget,
): ToolDialect {
  const known = dialects.get(source);
  if (known) return known;
  const dialect = readToolDialect(render, formats, marks);
  total?.check();
  dialects.set(source, dialect);
  return dialect;
}
