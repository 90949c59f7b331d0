import { Fault } from '../../protocol/fault.ts';
import { isObject } from '../../base/jsonTypes.ts';
import { didYouMean } from '../../base/didYouMean.ts';
import { describeParam } from './document.ts';
import { InvalidParams, unwrapParam } from './node.ts';
import type { Step } from './createNodes.ts';

/** Settings that a node derives from its live parameters, such as compiled templates; derived again after each change. */
export interface LiveParams<Params, Derived> {
  readonly current: Derived;
  /** The `change` of a node. @throws the error of `derive`; then nothing has changed. */
  change(params: Params): Promise<void>;
}

/** Derives settings from parameters now and after each change. @throws the error of `derive`. */
export async function liveParams<Params, Derived>(
  params: Params,
  derive: (params: Params) => Derived | Promise<Derived>,
): Promise<LiveParams<Params, Derived>> {
  let current = await derive(params);
  return {
    get current() {
      return current;
    },
    async change(changed) {
      current = await derive(changed);
    },
  };
}

/**
 * Merges changes into the live parameters of a node: absent ones stay, null restores the default. An object whose members
 * its schema declares is merged in the same way, one level deep; any other value replaces the former one.
 * @returns the new parameters, without (raw) and with defaults.
 * @throws Fault PARAM_NOT_MUTABLE or INVALID_PARAM_VALUE, and then nothing has changed.
 */
export async function changeParams(
  { node, type, rawParams }: Pick<Step, 'node' | 'type' | 'rawParams'>,
  changes: Readonly<Record<string, unknown>>,
  nodeName: string,
): Promise<Pick<Step, 'rawParams' | 'params'>> {
  const { properties } = type.params;
  for (const name of Object.keys(changes)) {
    const param = Object.hasOwn(properties, name) ? properties[name] : undefined;
    const place = `${nodeName}.params.${name}`;
    if (!param)
      throw new Fault('INVALID_PARAM_VALUE', `${place} is not known here${didYouMean(name, Object.keys(properties))}`);
    if (!param.live)
      throw new Fault('PARAM_NOT_MUTABLE', `${place} is fixed when the agent is made; make a new agent to change it`);
  }
  const changedParams = merge(rawParams, changes, (name) => properties[name]?.properties !== undefined);
  try {
    const params = unwrapParam('', type.read(changedParams));
    // The cast is safe: `read` has validated the value.
    await node.change?.(params as never);
    return { rawParams: changedParams, params };
  } catch (error) {
    if (!(error instanceof InvalidParams)) throw error;
    const messages = error.errors.map(({ pointer, message }) => `${describeParam(nodeName, pointer)} ${message}`);
    throw new Fault(error.errors[0]?.code ?? 'INVALID_PARAM_VALUE', messages.join('; '));
  }
}

type Params = Readonly<Record<string, unknown>>;

function merge(current: Params, changes: Params, hasMembers: (name: string) => boolean = () => false): Params {
  const merged = new Map(Object.entries(current));
  for (const [name, value] of Object.entries(changes)) {
    const own = merged.get(name);
    if (value === null) merged.delete(name);
    else if (!hasMembers(name) || !isObject(value)) merged.set(name, value);
    else merged.set(name, merge(isObject(own) ? own : {}, value));
  }
  return Object.fromEntries(merged);
}
