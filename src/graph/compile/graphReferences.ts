import { isObject } from '../../base/jsonTypes.ts';

/** What a graph names that is not in it. */
export interface GraphReferences {
  /** Names of models, without duplicates. */
  readonly models: readonly string[];
  /** Files and session storages of its nodes, without duplicates. */
  readonly storages: readonly string[];
  /** Those of them that are searched by vectors of the model that the storage names. */
  readonly withOwnModel: readonly string[];
}

/** Reads what a graph names, also where it has errors. */
export function referencesOf(document: unknown): GraphReferences {
  const graph = isObject(document) ? document : {};
  const params = Object.values(isObject(graph['nodes']) ? graph['nodes'] : {}).map(
    (node) => Object(Object(node).params) as Readonly<Record<string, unknown>>,
  );
  return {
    models: namesAmong([
      graph['default_model_name'],
      ...params.map(({ model_name: name }) => name),
      ...params.filter(hasVectors).map(({ embedding_model: name }) => name),
    ]),
    storages: namesAmong(params.map(({ string_storage: name }) => name)),
    withOwnModel: namesAmong(
      params.filter((node) => hasVectors(node) && !node['embedding_model']).map(({ string_storage: name }) => name),
    ),
  };
}

const hasVectors = ({ match }: Readonly<Record<string, unknown>>): boolean => match === 'vectors' || match === 'both';

const namesAmong = (values: readonly unknown[]): readonly string[] => [
  ...new Set(values.filter((value) => typeof value === 'string' && value !== '') as string[]),
];
