import { Command } from 'commander';
import { auditDocument, type GraphAudit, type AuditedTool, type GuardedNode } from '../audit/audit.ts';
import { auditProperties, type AuditProperty, formatPath, type PropertyVerdict } from '../audit/guardProofs.ts';
import { didYouMean } from '../../base/didYouMean.ts';
import { loadExtension, registryWith } from '../../graph/nodes/index.ts';
import { graphSchema } from '../../graph/compile/document.ts';
import type { Registry } from '../../graph/compile/registry.ts';
import { readCatalogue } from '../../inference/models/catalogue/catalogue.ts';
import { createReader } from '../../protocol/schema.ts';
import { checkedGraphs, openStorages, type CheckedGraph } from '../checkedGraphs.ts';
import { serverFlags, serverOptions, UsageError, type ServerFlags } from '../options.ts';
import { printable, alignColumns, plural } from '../output/terminalText.ts';
import { basename } from 'node:path';

export const auditCommand = (): Command =>
  serverFlags(
    new Command('audit')
      .description('prove or refute what graphs guarantee: guarded messages and answers, bounded loops, tools')
      .argument('<graph...>', 'graph files, or names in the graphs folder')
      .option('--require <properties>', `exit with 1 unless all of these hold: ${auditProperties.join(',')}`),
    ['graphs', 'catalogue', 'storageRoot', 'extend', 'json'],
  ).action(async (graphs: string[], { require, ...flags }: ServerFlags & { readonly require?: string }) => {
    const required = readRequired(require);
    const options = serverOptions(flags);
    const registry = registryWith(await loadExtension(options.extend));
    const catalogue = await readCatalogue(options.catalogue);
    let isFirst = true;
    for await (const checked of checkedGraphs(graphs, options, { registry, catalogue })) {
      const { path: file, faults, messages } = checked;
      const audited = faults.length === 0 ? await auditChecked(checked, registry) : undefined;
      const refuted = audited ? required.map((name) => refutedLine(file, name, audited.audit)).join('') : '';
      if (!audited || refuted !== '') process.exitCode = 1;
      const value = { file, faults, ...(audited && { ...audited.audit, tools: audited.audit.tools.map(toJsonTool) }) };
      if (options.json) process.stdout.write(`${JSON.stringify(value)}\n`);
      else if (audited)
        process.stdout.write((isFirst ? '' : '\n') + auditMarkdown(file, audited.description, audited.audit));
      for (const message of options.json ? [] : messages) process.stderr.write(`${printable(message)}\n`);
      process.stderr.write(refuted);
      if (audited) isFirst = false;
    }
  });

/** The properties that `--require` names. @throws UsageError */
function readRequired(list: string | undefined): readonly AuditProperty[] {
  if (list === undefined) return [];
  const names = list.split(',').map((name) => name.trim());
  const unknown = names.find((name) => !auditProperties.some((property) => property === name));
  if (unknown === undefined) return auditProperties.filter((property) => names.includes(property));
  const hint = didYouMean(unknown, auditProperties);
  throw new UsageError(
    `--require names no property of a graph: "${unknown}" (there are ${auditProperties.join(', ')})${hint}`,
  );
}

async function auditChecked({ document, storageRoot }: CheckedGraph, registry: Registry) {
  const reading = createReader(graphSchema)(document);
  if (!reading.ok) throw new TypeError('a graph without faults has the form of a graph');
  const storages = openStorages(storageRoot);
  const audit = await auditDocument(reading.value, registry, (nameOrPath) => storages.find(nameOrPath));
  return { audit, description: reading.value.description };
}

const guarantees: Readonly<Record<AuditProperty, string>> = {
  message: 'every message passes a Guardrail before a model runs',
  answer: 'every text of a model passes a Guardrail before the client gets it',
  bounded: 'every loop ends by itself',
  reachable: 'every node can be reached',
};

const assumptions = [
  'It is about one turn of the graph as it is in the file, and takes every exit of a node for possible. It does not say how good a pattern is.',
  'It holds while the game changes no live parameter (such as `hold`, `watch` or `tools`) and no string storage.',
  'A message that a Guardrail has refused stays in the dialog, which later turns show to the model.',
  'Calls are not answers: the client gets a call as the model wrote it, and decides whether to run it.',
];

function auditMarkdown(file: string, description: string, audit: GraphAudit): string {
  const { start, nodes, properties, undeclaredTypes } = audit;
  const lines = [
    `# Audit of ${plain(basename(file, '.json'))}`,
    '',
    ...(description === '' ? [] : [plain(description), '']),
    `${code(file)} has ${plural(nodes, 'node')}. A turn starts at ${code(start)}.`,
    '',
    ...table(
      ['Property', 'Guarantee', 'Result'],
      auditProperties.map((name) => {
        const { proven, reason } = properties[name];
        return [name, guarantees[name], proven ? `proven: ${plain(reason)}` : '**refuted**'];
      }),
    ),
    ...auditProperties.flatMap((name) => refutation(name, properties[name])),
    '',
    '## Models',
    '',
    ...modelLines(audit),
    '',
    '## Tools',
    '',
    ...toolLines(audit),
    '',
    '## What the proof rests on',
    '',
    ...assumptions.map((line) => `- ${line}`),
    ...undeclaredTypes.map(
      (type) => `- The node type ${code(type)} does not declare what it does: the worst is assumed.`,
    ),
    '',
  ];
  return lines.join('\n');
}

/** The line that says on standard error that a property is refuted; '' if it is proven. */
function refutedLine(file: string, name: AuditProperty, { properties }: GraphAudit): string {
  const verdict = properties[name];
  if (verdict.proven) return '';
  const path = verdict.path.length > 0 ? ` on the path ${formatPath(verdict.path)}` : '';
  return `${printable(`${file}: ${name} is refuted${path}: ${verdict.reason}; ${verdict.fix}`)}\n`;
}

function refutation(name: AuditProperty, verdict: PropertyVerdict): readonly string[] {
  if (verdict.proven) return [];
  const { path, reason, fix } = verdict;
  const shown = path.length > 0 ? [`- Path: ${code(formatPath(path))}`] : [];
  return ['', `## Refuted: ${name}`, '', ...shown, `- Why: ${plain(reason)}.`, `- Fix: ${plain(fix)}.`];
}

function modelLines({ models }: GraphAudit): readonly string[] {
  if (models.length === 0) return ['No node runs a model.'];
  const rows = models.map((each) => [code(each.node), plain(each.type), describeGuards(each)]);
  return table(['Node that may run a model', 'Type', 'Behind the Guardrails'], rows);
}

function toolLines({ tools }: GraphAudit): readonly string[] {
  if (tools.length === 0) return ['No tool can be called.'];
  const rows = tools.map((each) => [toolName(each), code(each.node), describeGuards(each), describeDelivery(each)]);
  return table(['Tool', 'Node', 'Behind the Guardrails', 'A call'], rows);
}

function toolName({ tool }: AuditedTool): string {
  if (!tool) return '_not known_';
  return tool.name === undefined ? '_any other name_' : code(tool.name);
}

function describeGuards({ guards, passes }: GuardedNode): string {
  if (guards.length === 0) return '**none**';
  const list = guards.map(({ node, watch }) => `${code(node)} (${watch})`);
  return passes === 'all' ? list.join(', ') : `one of ${list.join(', ')}`;
}

function describeDelivery({ tool }: AuditedTool): string {
  if (!tool) return 'may be sent to the client';
  const { name, isNotified, awaitsResult, isConsequential, needsSelection } = tool;
  return [
    isNotified ? `is sent to the client${name === undefined ? ' as not known' : ''}` : 'is recorded, not sent',
    ...(awaitsResult ? ['its result is waited for'] : []),
    ...(isConsequential ? ['consequential'] : []),
    ...(needsSelection ? ['only if selected'] : []),
  ].join(', ');
}

const unknownTool = { isNotified: true, awaitsResult: false, isConsequential: false, needsSelection: false };

function toJsonTool({ node, tool, guards, passes }: AuditedTool): object {
  const kind = !tool ? 'unknown' : tool.name === undefined ? 'undeclared' : 'declared';
  const { isNotified, awaitsResult, isConsequential, needsSelection } = tool ?? unknownTool;
  const name = tool?.name ?? null;
  return { node, kind, name, isNotified, awaitsResult, isConsequential, needsSelection, guards, passes };
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): readonly string[] {
  const cells = [head, ...rows].map((row) => row.map((cell) => cell.replaceAll('|', String.raw`\|`)));
  const [first = [], ...others] = alignColumns(cells);
  return [first, first.map(({ length }) => '-'.repeat(length)), ...others].map((row) => `| ${row.join(' | ')} |`);
}

const plain = (text: string): string =>
  printable(text)
    .trimStart()
    .replaceAll(/^[#>+=~|-]|[\\`*[<]/g, String.raw`\$&`);

function code(text: string): string {
  const shown = printable(text);
  const fences = shown.match(/`+/g);
  if (!fences) return `\`${shown}\``;
  const fence = '`'.repeat(Math.max(...fences.map(({ length }) => length)) + 1);
  return `${fence} ${shown} ${fence}`;
}
