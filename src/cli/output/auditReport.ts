import { basename } from 'node:path';
import type { GraphAudit } from '../audit/audit.ts';
import { auditProperties, formatPath, type AuditProperty, type PropertyVerdict } from '../audit/walk.ts';
import type { AuditedTool, GuardedNode } from '../audit/guardedNodes.ts';
import { alignColumns, plural, printable } from './terminalText.ts';

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

/** The audit of a graph as Markdown. */
export function auditMarkdown(file: string, description: string, audit: GraphAudit): string {
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

/** The audit of a graph as a JSON value. */
export function auditJson({ tools, ...audit }: GraphAudit): object {
  return { ...audit, tools: tools.map(toJsonTool) };
}

/** The line that says on standard error that a property is refuted; '' if it is proven. */
export function refutedLine(file: string, name: AuditProperty, { properties }: GraphAudit): string {
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

const toJsonTool = ({ node, tool, guards, passes }: AuditedTool): object => ({
  node,
  kind: kindOf(tool),
  name: tool?.name ?? null,
  isNotified: tool?.isNotified ?? true,
  awaitsResult: tool?.awaitsResult ?? false,
  isConsequential: tool?.isConsequential ?? false,
  needsSelection: tool?.needsSelection ?? false,
  guards,
  passes,
});

function kindOf(tool: AuditedTool['tool']): 'declared' | 'undeclared' | 'unknown' {
  if (!tool) return 'unknown';
  return tool.name === undefined ? 'undeclared' : 'declared';
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
