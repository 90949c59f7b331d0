import { Command } from 'commander';
import type { ServerOptions } from '../../config.ts';
import { createUncachedLlamaEngine } from '../../llamaEngine.ts';
import type { Catalogue } from '../../models/catalogue/catalogue.ts';
import { ModelPool } from '../../models/pool/pool.ts';
import { chooseFormat, defaultFormat } from '../../tools/formats/chooseFormat.ts';
import { noDialect, type ToolDialect } from '../../tools/native/toolDialect.ts';
import { isOnDisk, localCatalogue } from '../localCatalogue.ts';
import { requireEntry } from '../openCatalogue.ts';
import { serverFlags, serverOptions } from '../options.ts';
import { captureOptions } from '../promptCapture.ts';

/** `turngraph tools formats`: the tool-call format of a model. */
export const toolsFormatsCommand = (): Command =>
  serverFlags(
    new Command('formats')
      .description('show which tool-call format a model gets, and why')
      .requiredOption('--model <name>', 'a name in the catalogue'),
    ['catalogue', 'models', 'engineProcess', 'json'],
  ).action(formats);

async function formats({ model: name, ...flags }: { readonly model: string }): Promise<void> {
  const options = serverOptions(flags);
  const catalogue = await localCatalogue(options);
  const model = requireEntry(catalogue, name);
  const onDisk = isOnDisk(catalogue, name);
  const dialect = onDisk ? await readDialect(options, catalogue, name) : noDialect('it is not on disk');
  const { format: detected = '', because } = dialect;
  const { name: format, reason } = chooseFormat({ node: '', catalogue: model.tool_call_format, detected, because });
  if (options.json)
    return print(JSON.stringify({ model: name, format, because: reason, named: model.tool_call_format, detected }));
  print(`${name}: ${format} (${reason})`);
  print('    a node       comes first, if its tool_call_format names one');
  print(`    models.json  ${model.tool_call_format || 'names none'}`);
  print(`    the model    ${detected || because}`);
  print(`    otherwise    ${defaultFormat}`);
}

async function readDialect(options: ServerOptions, catalogue: Catalogue, name: string): Promise<ToolDialect> {
  const engine = await createUncachedLlamaEngine(options);
  await using pool = new ModelPool(engine, { ...captureOptions, catalogue, idleMs: 0 });
  const { model } = await pool.lease(name);
  return model.toolDialect;
}

const print = (line: string): void => void process.stdout.write(`${line}\n`);
