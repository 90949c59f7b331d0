import { stat } from 'node:fs/promises';
import { Command } from 'commander';
import { readCatalogue } from '../models/catalogue.ts';
import { serverFlags, serverOptions } from './options.ts';

/** `turngraph models` */
export function modelsCommand(): Command {
  const models = new Command('models').description('see what models there are');
  serverFlags(models.command('list').description('list the models of the catalogue'), ['catalogue', 'json']).action(
    list,
  );
  return models;
}

async function list(flags: Record<string, unknown>): Promise<void> {
  const options = serverOptions(flags);
  const { models, problems } = await readCatalogue(options.catalogue);
  for (const problem of problems) process.stderr.write(`${problem}\n`);
  for (const { name, description, file, tool_call_format } of models.values()) {
    const onDisk = file !== undefined && (await stat(file).catch(() => undefined)) !== undefined;
    const status = onDisk ? 'LOCAL' : 'ABSENT';
    const line = options.json
      ? JSON.stringify({ name, status, tool_call_format, description })
      : `${name}  ${status}  ${tool_call_format}\n    ${description}`;
    process.stdout.write(`${line}\n`);
  }
}
