import type { Dialog, DialogResult } from '../../../chat/dialog.ts';
import type { AnsweredCall } from '../../../chat/calls.ts';
import { canonicalJson } from '../../../chat/json/canonicalJson.ts';
import { parseJsonAt } from '../../../chat/json/lenientParser.ts';
import { isJsonObject, type JsonObject } from '../../../chat/json/value.ts';

/** A text that calls share if they are equal in name and arguments. */
export const callKey = (name: string, args: JsonObject): string => `${JSON.stringify(name)} ${canonicalJson(args)}`;

// A loop compares each call with those before it, and each turn has all results of the dialog: keys are made once.
const answeredKeys = new WeakMap<AnsweredCall, string>();
const resultKeys = new WeakMap<DialogResult, string>();
const knownByDialog = new WeakMap<Dialog, ReadonlyMap<string, DialogResult>>();

/** The key of a call that has its result. */
export function answeredKey(call: AnsweredCall): string {
  const key = answeredKeys.get(call) ?? callKey(call.name, call.arguments);
  answeredKeys.set(call, key);
  return key;
}

/** The results that stay in a dialog, by the key of their call; of equal calls the newest. */
export function knownResults(dialog: Dialog): ReadonlyMap<string, DialogResult> {
  const known =
    knownByDialog.get(dialog) ??
    new Map(dialog.interactions.flatMap(({ results = [] }) => results.map((result) => [resultKey(result), result])));
  knownByDialog.set(dialog, known);
  return known;
}

function resultKey(result: DialogResult): string {
  const known = resultKeys.get(result);
  if (known !== undefined) return known;
  const { name, arguments_json } = result;
  const parsed = parseJsonAt(arguments_json, 0);
  const key = parsed.ok && isJsonObject(parsed.value) ? callKey(name, parsed.value) : '';
  resultKeys.set(result, key);
  return key;
}
