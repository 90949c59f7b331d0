import type { CodeName } from '../../protocol/frames.gen.ts';
import { isObject } from '../../base/jsonTypes.ts';

/** What stands here for a name of another engine's graphs: another name, or what to do instead, or both. */
export interface Counterpart {
  /** The name here. */
  readonly now?: string;
  /** Continues the sentence that begins with the other name; default: that it is `now` here. */
  readonly how?: string;
}

/** Counterparts by the other name, in snake_case where it is no type. */
export type Counterparts = Readonly<Record<string, Counterpart>>;

/** The names of another engine's graphs that differ from those here, and their counterparts. */
export interface OtherNames {
  /** Whose names they are. */
  readonly engine: string;
  /** Members of the graph, and of a node. */
  readonly graph: Counterparts;
  readonly node: Counterparts;
  /** What is a list there and an object here, by its member. */
  readonly lists: Counterparts;
  /** Node types, in the order of their numbers there. */
  readonly types: Counterparts;
  /** Parameters, by the node type here. A number at the end of a name is `N` in the table. */
  readonly params: Readonly<Record<string, Counterparts>>;
  /** Exits, by the node type here; there each is the parameter NAME_exit, too. */
  readonly exits: Readonly<Record<string, Counterparts>>;
  /** Targets of exits. */
  readonly targets: Counterparts;
  /** Values of parameters, by the parameter: as they are written there, and their numbers. */
  readonly values: Readonly<Record<string, Counterparts>>;
}

/** The name here of a node type, which may be written as the name of its class there. */
export const typeHere = ({ types }: OtherNames, name: string): string | undefined => own(types, plainType(name))?.now;

/** `; ENGINE's NAME is "x" here`: what stands here for a name or value of the other engine at a place of a graph; "" = it has none there. */
export function otherNameHint(names: OtherNames, document: unknown, place: readonly string[], code: CodeName): string {
  const [top = '', , member = '', inner] = place;
  const node = valueAt(document, place.slice(0, 2));
  const value = valueAt(document, place);
  if (place.length === 1) return memberHint(names, top, value, names.graph);
  if (top !== 'nodes' || !isObject(node)) return '';
  if (place.length === 3)
    return member === 'type' ? typeHint(names, value) : memberHint(names, member, value, names.node);
  if (place.length !== 4 || inner === undefined) return '';
  const written = typeof node['type'] === 'string' ? node['type'] : '';
  const type = typeHere(names, written) ?? written;
  if (member === 'exits' && code === 'INVALID_EXIT_TARGET')
    return hint(names, String(value), own(names.targets, String(value)));
  if (member === 'exits')
    return hint(names, inner, own(own(names.exits, type) ?? {}, snakeCase(inner).replace(/_exit$/, '')));
  return member === 'params' ? paramHint(names, type, inner, value) : '';
}

function memberHint(names: OtherNames, name: string, value: unknown, members: Counterparts): string {
  if (Array.isArray(value)) {
    const list = own(names.lists, name);
    if (list) return hint(names, `list of ${name}`, list);
  }
  return hint(names, name, own(members, snakeCase(name)));
}

function typeHint(names: OtherNames, value: unknown): string {
  if (typeof value === 'string') return hint(names, value, own(names.types, plainType(value)));
  if (typeof value !== 'number') return '';
  const [type = '', found] = Object.entries(names.types)[value] ?? [];
  return hint(names, `node type ${value} (${type})`, found);
}

function paramHint(names: OtherNames, type: string, name: string, value: unknown): string {
  const plain = snakeCase(name).replace(/_\d+$/, '_N');
  const param = own(own(names.params, type) ?? {}, plain);
  if (param) return hint(names, name, param);
  const exit = plain.endsWith('_exit') ? own(own(names.exits, type) ?? {}, plain.slice(0, -'_exit'.length)) : undefined;
  if (exit) return hint(names, name, { how: exit.how ?? `is an exit here: write ${exitText(names, exit.now, value)}` });
  if (typeof value !== 'string' && typeof value !== 'number') return '';
  const spoken = typeof value === 'number' ? `${name} ${value}` : value;
  return hint(names, spoken, own(own(names.values, plain) ?? {}, String(value)));
}

function exitText({ targets }: OtherNames, exit: string | undefined, target: unknown): string {
  const written = typeof target === 'string' ? target : '...';
  return `"exits": {${JSON.stringify(exit)}: ${JSON.stringify(own(targets, written)?.now ?? written)}}`;
}

const hint = ({ engine }: OtherNames, name: string, found: Counterpart | undefined): string =>
  found && found.now !== name ? `; ${engine}'s ${name} ${found.how ?? `is "${found.now ?? ''}" here`}` : '';

const own = <T>(table: Readonly<Record<string, T>>, name: string): T | undefined =>
  Object.hasOwn(table, name) ? table[name] : undefined;

/** `TriggeredExit` and `triggered_exit` are one name; `template_` is what one language makes of `template`. */
const snakeCase = (name: string): string =>
  name
    .replaceAll(/(?<=[a-z0-9])[A-Z]/g, '_$&')
    .replace(/_$/, '')
    .toLowerCase();

const plainType = (name: string): string => name.replace(/^U?Tryll(?=[A-Z])/, '').replace(/(?:ParamsT?|Node)$/, '');

function valueAt(document: unknown, place: readonly string[]): unknown {
  let value = document;
  for (const name of place) {
    if (!isObject(value) || !Object.hasOwn(value, name)) return undefined;
    value = value[name];
  }
  return value;
}
