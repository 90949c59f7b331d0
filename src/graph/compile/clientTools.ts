import { didYouMean, listNames } from '../../base/didYouMean.ts';
import { declaredToolName, type ToolDeclaration, toolSchema } from '../../chat/tools/declaration/toolSchema.ts';
import { createReader, invalid, readJsonField, type ReadResult } from '../../protocol/schema.ts';

/** The tools that a client brings for the names in its graph, by name. */
export type ClientTools = ReadonlyMap<string, ToolDeclaration>;

const readDeclarations = createReader({ type: 'array', items: toolSchema });

/** Parses the tools that a client brings; "" = none. @throws Fault MALFORMED_MESSAGE with the places of errors. */
export function parseClientTools(text: string): ClientTools {
  if (text === '') return new Map();
  const declarations = readJsonField(text, 'createAgent.toolsJson', (value) => {
    const reading = readDeclarations(value);
    const names = reading.ok ? reading.value.map(declaredToolName) : [];
    const seen = new Set<string>();
    const twice = names.findIndex((name) => seen.size === seen.add(name).size);
    return twice < 0 ? reading : invalid(`/${twice}`, `is the second tool "${names[twice]}"`);
  });
  return new Map(declarations.map((tool) => [declaredToolName(tool), tool]));
}

/** The declaration of an entry of `tools`. @param tools the client's; undefined: any. */
export function findDeclaration(
  entry: ToolDeclaration | string,
  tools: ClientTools | undefined,
): ReadResult<ToolDeclaration> {
  const name = declaredToolName(entry);
  const brought = tools?.get(name);
  if (typeof entry !== 'string') {
    const fix = `write "${name}" in its place, or do not bring it`;
    if (brought) return invalid('', `declares the tool "${name}", which createAgent.tools has, too; ${fix}`);
    return { ok: true, value: entry };
  }
  if (!tools || brought) return { ok: true, value: brought ?? { name, description: '' } };
  const known =
    tools.size === 0 ? 'is empty; bring it, or declare it in the graph' : `has only ${listNames(tools.keys())}`;
  const problem = `names the tool "${name}", which the program does not bring: createAgent.tools ${known}`;
  return invalid('', problem + didYouMean(name, tools.keys()));
}

/** What is wrong with a graph that does not name all tools; `named` is undefined where not all its names are known. */
export function findUnnamed(tools: ClientTools | undefined, named: ReadonlySet<string> | undefined): readonly string[] {
  const unnamed = [...(tools?.keys() ?? [])].filter((name) => named?.has(name) === false);
  const [first] = unnamed;
  if (first === undefined || !named) return [];
  const known = named.size === 0 ? 'none' : `only ${listNames(named)}`;
  const message = `has no node that names ${listNames(unnamed)} of createAgent.tools: its nodes name ${known}`;
  return [message + didYouMean(first, named)];
}
