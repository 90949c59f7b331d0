import { didYouMean } from '../../../base/didYouMean.ts';
import type { Turn } from '../../compile/turn.ts';
import { withEnums } from '../../../chat/tools/declaration/enumSource.ts';
import { readEnumValues, type EnumReading } from '../../../chat/tools/declaration/enumValues.ts';
import type { EnumSource, Tool } from '../../../chat/tool.ts';

// Of the lists of all parameters together, each as often as it is used: each is written into the prompt, and compiled.
const maxCharacters = 131_072;

/**
 * Tools with the values that their parameters have in a turn, by name. A tool is left out, with a warning of the turn, where
 * a variable with values is missing or wrong, or where the values of the tools before it leave no room.
 */
export function turnTools(tools: ReadonlyMap<string, Tool>, turn: Turn, nodeName: string): ReadonlyMap<string, Tool> {
  const readings = new Map<string, EnumReading>();
  const textOf = (variable: string): string | undefined =>
    Object.hasOwn(turn.variables, variable) ? turn.variables[variable] : undefined;
  // A variable that is missing may be there by a similar name.
  const hintFor = (variable: string): string =>
    textOf(variable) === undefined ? didYouMean(variable, Object.keys(turn.variables)) : '';
  const read = (source: EnumSource): EnumReading => {
    const key = JSON.stringify([source.variable, source.types]);
    const reading = readings.get(key) ?? readEnumValues(textOf(source.variable), source);
    readings.set(key, reading);
    return reading;
  };
  const found = new Map<string, Tool>();
  let characters = 0;
  for (const [name, tool] of tools) {
    const { enumSources = [] } = tool;
    const warn = (reason: string): void => turn.warn(`${nodeName} leaves out the tool ${name} in this turn: ${reason}`);
    const values = new Map<EnumSource, readonly unknown[]>();
    for (const source of enumSources) {
      const reading = read(source);
      if (reading.ok) values.set(source, reading.values);
      else warn(problemOf(source, reading.problem) + hintFor(source.variable));
    }
    if (values.size < enumSources.length) continue;
    const variables = enumSources.map(({ variable }) => variable);
    const more = variables.reduce((sum, variable) => sum + (textOf(variable)?.length ?? 0), 0);
    if (characters + more > maxCharacters) {
      const names = [...new Set(variables)].map((variable) => JSON.stringify(variable)).join(', ');
      warn(
        `with it, the lists of values of all tools have ${characters + more} characters, and ${maxCharacters} are allowed; send fewer values in ${names}`,
      );
      continue;
    }
    characters += more;
    found.set(name, values.size === 0 ? tool : withEnums(tool, values));
  }
  return found;
}

const problemOf = ({ path, variable }: EnumSource, problem: string): string =>
  `its parameter ${path} takes its values from the variable "${variable}", which ${problem}`;
