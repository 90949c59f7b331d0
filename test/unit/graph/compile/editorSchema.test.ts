import { describe, expect, it } from 'vitest';
import { editorSchema } from '../../../../src/graph/compile/editorSchema.ts';
import { registryWith } from '../../../../src/graph/nodes/index.ts';

interface Branch {
  readonly then: { readonly properties: { readonly type: { const: string }; readonly params: { properties: object } } };
}

const registry = registryWith();

describe('the schema for editors', () => {
  it('marks the parameters that may change between turns by x-live', () => {
    const { definitions } = editorSchema(registry) as { definitions: { node: { allOf: readonly Branch[] } } };
    const marked = definitions.node.allOf.map(({ then: { properties } }) => [
      properties.type.const,
      Object.entries(properties.params.properties).flatMap(([name, schema]) => (schema['x-live'] ? [name] : [])),
    ]);
    const live = [...registry.values()].map(({ type, params }) => [
      type,
      Object.entries(params.properties).flatMap(([name, schema]) => (schema.live ? [name] : [])),
    ]);
    expect(marked).toEqual(live);
    expect(Object.fromEntries(live)).toMatchObject({ Guardrail: ['string_storage', 'watch'] });
  });
});
