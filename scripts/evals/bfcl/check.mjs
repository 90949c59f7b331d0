// The comparison of the Berkeley Function Calling Leaderboard (v4, Python): whether calls are those that a question asks for.
//
// The truth of a call is `{NAME: {PARAMETER: [accepted values]}}`; "" among them: the parameter may be absent. Texts are equal if
// they are without case, spaces and `,./-_*^`, and with " for '. Several calls may come in any order.
import { isDeepStrictEqual } from 'node:util';

/**
 * @typedef {object} Call
 * @property {string} name
 * @property {Readonly<Record<string, unknown>>} arguments
 */

/**
 * Why calls are not those of the truth, as one word for a table; undefined: they are.
 * @param {readonly Call[]} calls
 * @param {readonly Readonly<Record<string, Readonly<Record<string, readonly unknown[]>>>>[]} truth none: no call is right.
 * @param {readonly { readonly name: string, readonly parameters: object }[]} functions as the data declares them.
 */
export function whyWrong(calls, truth, functions) {
  if (truth.length === 0) return calls.length === 0 ? undefined : 'call';
  if (calls.length !== truth.length) return calls.length === 0 ? 'no call' : 'number';
  const left = [...calls];
  for (const expected of truth) {
    const problems = left.map((call) => whyOtherCall(call, expected, functions));
    const found = problems.indexOf(undefined);
    if (found < 0) return problems.find((problem) => problem !== 'name') ?? 'name';
    left.splice(found, 1);
  }
  return undefined;
}

function whyOtherCall(call, expected, functions) {
  const [[name, accepted]] = Object.entries(expected);
  if (call.name !== name) return 'name';
  const { properties, required = [] } = functions.find((one) => one.name === name).parameters;
  if (required.some((parameter) => !(parameter in call.arguments))) return 'missing';
  for (const [parameter, value] of Object.entries(call.arguments)) {
    if (!(parameter in properties) || !(parameter in accepted)) return 'unexpected';
    const problem = whyOtherValue(value, properties[parameter], accepted[parameter]);
    if (problem) return problem;
  }
  const isComplete = Object.entries(accepted).every(
    ([parameter, values]) => parameter in call.arguments || values.includes(''),
  );
  return isComplete ? undefined : 'missing';
}

const kinds = { integer: 'integer', float: 'float', number: 'float', boolean: 'boolean', dict: 'dict', any: 'string' };
const kindOfType = (type) => (type === 'array' || type === 'tuple' ? 'list' : (kinds[type] ?? 'string'));

function kindOf(value) {
  if (Array.isArray(value)) return 'list';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'float';
  return typeof value === 'object' && value !== null ? 'dict' : typeof value;
}

function whyOtherValue(value, { type, items }, accepted) {
  const expected = kindOfType(type);
  const [first] = accepted.filter((one) => one !== '');
  const isOfKind = (one, kind) => kindOf(one) === kind || (kind === 'float' && kindOf(one) === 'integer');
  // A value of another kind than declared counts where the truth has one, too.
  if (!isOfKind(value, expected) && !(first !== undefined && isOfKind(value, kindOf(first)))) return 'type';
  const kindOfItems = expected === 'list' && items ? kindOfType(items.type) : undefined;
  if (kindOfItems && Array.isArray(value)) {
    const lists = accepted.filter(Array.isArray);
    const fits = (one, list) => isOfKind(one, kindOfItems) || (list.length > 0 && isOfKind(one, kindOf(list[0])));
    if (lists.length > 0 && !lists.some((list) => value.every((one) => fits(one, list)))) return 'type';
  }
  return accepted.some((one) => isAccepted(value, one)) ? undefined : 'value';
}

/** Whether a value is one of the truth. In an object of it, each member has a list of accepted values. */
function isAccepted(value, one) {
  if (kindOf(one) === 'dict' && kindOf(value) === 'dict') return isAcceptedObject(value, one);
  const isListOfObjects = Array.isArray(one) && Array.isArray(value) && one.some((item) => kindOf(item) === 'dict');
  if (isListOfObjects) return one.length === value.length && one.every((item, at) => isAccepted(value[at], item));
  return isDeepStrictEqual(plain(value), plain(one));
}

function isAcceptedObject(value, accepted) {
  const isKnown = Object.entries(value).every(
    ([key, member]) => key in accepted && accepted[key].some((one) => isDeepStrictEqual(plain(member), plain(one))),
  );
  return isKnown && Object.entries(accepted).every(([key, values]) => key in value || values.includes(''));
}

const plain = (value) => {
  if (Array.isArray(value)) return value.map(plain);
  return typeof value === 'string'
    ? value
        .replaceAll(/[ ,./\-_*^]/g, '')
        .toLowerCase()
        .replaceAll("'", '"')
    : value;
};
