import * as v from 'valibot';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool, executor } from '../../../../src/client/index.ts';

const named = { name: 'set_light', description: 'Turn a light on or off.' };
const run = () => {};

describe('the declaration of a tool', () => {
  it('has the JSON Schema of its parameters, without what the model need not see', () => {
    const parameters = { $schema: 'http://json-schema.org/draft-07/schema#', properties: { on: { type: 'boolean' } } };
    expect(defineTool({ ...named, parameters, consequential: true, lifespan: 'DIALOG', run }).declaration).toEqual({
      ...named,
      parameters: { type: 'object', properties: { on: { type: 'boolean' } } },
      consequential: true,
    });
  });

  it('has that of a Zod schema: what the model writes, not what the function gets', () => {
    const parameters = z.object({
      name: z.enum(['porch', 'hall']).describe('Which light.'),
      level: z.string().transform(Number).optional(),
      color: z.string().default('white'),
      minutes: z.int().min(1).optional(),
    });
    expect(defineTool({ ...named, parameters, run }).declaration.parameters).toEqual({
      type: 'object',
      properties: {
        name: { type: 'string', enum: ['porch', 'hall'], description: 'Which light.' },
        level: { type: 'string' },
        color: { type: 'string', default: 'white' },
        minutes: { type: 'integer', minimum: 1 },
      },
      required: ['name'],
    });
  });

  it('has that of any schema that gives one', () => {
    const validate = (value: unknown) => ({ value });
    const jsonSchema = { input: ({ target }: { target: string }) => ({ type: 'object', title: target }) };
    const parameters = { '~standard': { version: 1, vendor: 'own', validate, jsonSchema } } as const;
    const { declaration } = defineTool({ ...named, parameters, run });
    expect(declaration.parameters).toEqual({ type: 'object', title: 'draft-2020-12' });
  });

  it('has no parameters where the tool takes none', () => {
    expect(defineTool({ ...named, run }).declaration).toEqual(named);
  });
});

describe('defineTool refuses', () => {
  const fix =
    'give the JSON Schema itself, such as z.toJSONSchema(schema) of Zod or toJsonSchema(schema) of @valibot/to-json-schema';

  it.each([
    [
      { ...named, parameters: v.object({}), run },
      `defineTool.set_light.parameters of valibot gives no JSON Schema (~standard.jsonSchema), which the model is shown; ${fix}`,
    ],
    [
      { ...named, parameters: z.object({ at: z.date() }), run },
      `defineTool.set_light.parameters cannot be shown to a model: Date cannot be represented in JSON Schema; ${fix}`,
    ],
    [
      { ...named, parameters: { type: 'string' }, run },
      'defineTool.set_light.parameters.type must be "object": arguments have names',
    ],
    [named, 'defineTool.set_light.run is missing: give a function that runs the tool'],
    [{ ...named, run, lifespan: 'FOREVER' }, 'defineTool.set_light.lifespan must be "TURN" or "DIALOG", not "FOREVER"'],
    [{ name: 'set_light', run }, 'defineTool.description is missing'],
    [{ description: 'Turn on.', run }, 'defineTool.name is missing'],
    [{ ...named, run, consequental: true }, 'defineTool.consequental is not known here; did you mean "consequential"?'],
  ])('what cannot be a tool (%#)', (tool, message) => {
    expect(() => defineTool(tool as never)).toThrow(expect.objectContaining({ name: 'MALFORMED_MESSAGE', message }));
  });
});

it('an executor takes a list of defined tools, and nothing else in it', () => {
  expect(() => executor([{ ...named, run }] as never)).toThrow(
    'executor.tools[0] must be a tool of defineTool({ ... }), not an object',
  );
});
