import { didYouMean } from '../../base/didYouMean.ts';
import { Fault } from '../../protocol/fault.ts';
import type { SearchStorageRequest } from '../../protocol/frames.gen.ts';
import { findDuplicateKeys, parseJson } from '../../base/jsonLocations.ts';
import { describePointer } from '../../base/jsonPointer.ts';
import type { StringStorage } from '../storage/stringStorage.ts';
import type { EntryFilter } from './filter/filter.ts';
import { readFilter } from './filter/readFilter.ts';
import { matches, maxTopK, type Match, type SearchRequest } from './retriever.ts';

const defaultTopK = 3;

/**
 * Checks a search without a graph, of a client or the command line.
 * @param names for messages.
 * @throws Fault INVALID_PARAM_VALUE; no variables.
 */
export function readSearch(
  { query, match, topK, filterJson }: Omit<SearchStorageRequest, 'name'>,
  { knowledge }: StringStorage,
  names: { readonly match: string; readonly topK: string; readonly filter: string },
): SearchRequest {
  const invalid = (message: string): Fault => new Fault('INVALID_PARAM_VALUE', message);
  if (match !== '' && !isMatch(match))
    throw invalid(`${names.match} must be one of ${matches.join(', ')}, not "${match}"${didYouMean(match, matches)}`);
  if (!Number.isInteger(topK) || topK < 0 || topK > maxTopK)
    throw invalid(`${names.topK} must be an integer of 1 to ${maxTopK}, or 0 for ${defaultTopK}`);
  return {
    query,
    match: match === '' ? 'words' : match,
    topK: topK === 0 ? defaultTopK : topK,
    minSimilarity: 0,
    filter: filterJson === '' ? undefined : readFilterJson(filterJson, knowledge?.fields, names.filter),
    variables: {},
  };
}

function readFilterJson(json: string, fields: Parameters<typeof readFilter>[1], name: string): EntryFilter {
  const invalid = (message: string): Fault => new Fault('INVALID_PARAM_VALUE', `${name}${message}`);
  const value = parseJson(json, (problem) => invalid(` ${problem}`));
  const reading = readFilter(value, fields);
  if (!reading.ok) {
    const { pointer = '', message = 'is invalid' } = reading.errors[0] ?? {};
    throw invalid(`${describePointer(pointer)} ${message}`);
  }
  const [duplicate] = findDuplicateKeys(json);
  if (duplicate) throw invalid(`${describePointer(duplicate.pointer)} is there twice; put both into one "$and"`);
  const [variable] = reading.value.variables;
  if (variable !== undefined)
    throw invalid(` has {"$variable": "${variable}"}, and a search outside a graph has no variables; give a value`);
  return reading.value;
}

const isMatch = (match: string): match is Match => (matches as readonly string[]).includes(match);
