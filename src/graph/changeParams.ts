import { Fault } from '../fault.ts';
import type { CodeName } from '../frames.gen.ts';
import { escapePointerToken } from '../jsonPointer.ts';
import { isObject } from '../jsonTypes.ts';
import { type SchemaError } from '../schema.ts';
import { didYouMean } from '../didYouMean.ts';
import { describeGraphPointer } from './document.ts';
import { InvalidParams, type Node } from './node.ts';
import type { RegisteredType } from './registry.ts';

/** What a change of parameters needs to know of a node. */
export interface ChangeableNode {
  readonly node: Node;
  readonly type: RegisteredType;
  /** The parameters as they were given, without defaults. */
  readonly rawParams: Readonly<Record<string, unknown>>;
}

/**
 * Changes live parameters of a node: only the fields given; objects merge one level deep, null restores the default.
 * @returns the parameters as they are given from now on.
 * @throws Fault PARAM_NOT_MUTABLE or INVALID_PARAM_VALUE, and then nothing has changed.
 */
export async function changeParams(
  { node, type, rawParams: given }: ChangeableNode,
  changes: Readonly<Record<string, unknown>>,
  nodeName: string,
): Promise<Readonly<Record<string, unknown>>> {
  const { properties } = type.params;
  for (const name of Object.keys(changes)) {
    const param = Object.hasOwn(properties, name) ? properties[name] : undefined;
    const place = `${nodeName}.params.${name}`;
    if (!param) throw paramsFault(`${place} is not known here${didYouMean(name, Object.keys(properties))}`);
    if (!param.live)
      throw new Fault('PARAM_NOT_MUTABLE', `${place} is fixed when the agent is made; make a new agent to change it`);
  }
  const merged = merge(given, changes, 1);
  const reading = type.read(merged);
  if (!reading.ok) throw invalidParams(nodeName, reading.errors);
  try {
    // `read` has accepted what `change` is given.
    await node.change?.(reading.value as never);
  } catch (error) {
    if (!(error instanceof InvalidParams)) throw error;
    throw invalidParams(nodeName, error.errors);
  }
  return merged;
}

const paramsFault = (message: string, code: CodeName = 'INVALID_PARAM_VALUE'): Fault => new Fault(code, message);

function invalidParams(nodeName: string, errors: readonly SchemaError[]): Fault {
  const params = `/nodes${escapePointerToken(nodeName)}/params`;
  const [first] = errors;
  return paramsFault(
    errors.map(({ pointer, message }) => `${describeGraphPointer(params + pointer)} ${message}`).join('; '),
    first?.code,
  );
}

type Fields = Readonly<Record<string, unknown>>;

function merge(before: Fields, changes: Fields, levels: number): Fields {
  const merged = new Map(Object.entries(before));
  for (const [name, value] of Object.entries(changes)) {
    const old = merged.get(name);
    if (value === null) merged.delete(name);
    else merged.set(name, levels > 0 && isObject(value) ? merge(isObject(old) ? old : {}, value, levels - 1) : value);
  }
  return Object.fromEntries(merged);
}
