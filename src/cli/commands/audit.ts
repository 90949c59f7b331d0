import { Command } from 'commander';
import { auditDocument, type GraphAudit } from '../audit/audit.ts';
import { auditProperties, type AuditProperty } from '../audit/walk.ts';
import { didYouMean } from '../../base/didYouMean.ts';
import { loadExtension, registryWith } from '../../graph/nodes/index.ts';
import { graphSchema } from '../../graph/compile/document.ts';
import type { Registry } from '../../graph/compile/registry.ts';
import { readCatalogue } from '../../inference/models/catalogue/catalogue.ts';
import { createReader } from '../../protocol/schema.ts';
import { SessionStorages } from '../../graph/storage/sessionStorages.ts';
import { StorageRoot } from '../../graph/storage/storageRoot.ts';
import { checkedGraphs, type CheckedGraph } from '../checkedGraphs.ts';
import { serverFlags, serverOptions, UsageError } from '../options.ts';
import { printable } from '../output/terminalText.ts';
import { auditJson, auditMarkdown, refutedLine } from '../output/auditReport.ts';

interface AuditFlags {
  readonly require?: string;
  readonly [serverFlag: string]: unknown;
}

/** `turngraph audit`: proves or refutes what a graph guarantees. */
export const auditCommand = (): Command =>
  serverFlags(
    new Command('audit')
      .description('prove or refute what graphs guarantee: guarded messages and answers, bounded loops, tools')
      .argument('<graph...>', 'graph files, or names in the graphs folder')
      .option('--require <properties>', `exit with 1 unless all of these hold: ${auditProperties.join(',')}`),
    ['graphs', 'catalogue', 'storageRoot', 'extend', 'json'],
  ).action(async (graphs: string[], { require, ...flags }: AuditFlags) => {
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
      const value = { file, faults, ...(audited && auditJson(audited.audit)) };
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

async function auditChecked(
  { document, storageRoot }: CheckedGraph,
  registry: Registry,
): Promise<{ readonly audit: GraphAudit; readonly description: string }> {
  const reading = createReader(graphSchema)(document);
  if (!reading.ok) throw new TypeError('a graph without faults has the form of a graph');
  const storages = new SessionStorages(new StorageRoot(storageRoot), Infinity);
  const audit = await auditDocument(reading.value, registry, (nameOrPath) => storages.find(nameOrPath));
  return { audit, description: reading.value.description };
}
