import * as v from 'valibot';
import { describe, expectTypeOf, it } from 'vitest';
import { z } from 'zod';
import {
  defineTool,
  executor,
  type FromJsonSchema,
  type AgentTools,
  type DefinedTool,
  type ToolArguments,
  type ToolContext,
  type ToolExecutor,
  type ToolRegistration,
} from '../../../../src/client/index.ts';

// The assertions are checked by `tsc -p tsconfig.json`; at run time they do nothing.

/** A value of the type of a JSON Schema literal. */
const typed = <const S>(schema: S): FromJsonSchema<S> => schema as FromJsonSchema<S>;

describe('the type of the values of a JSON Schema', () => {
  it('is that of its type', () => {
    expectTypeOf(typed({ type: 'string' })).toEqualTypeOf<string>();
    expectTypeOf(typed({ type: 'integer', minimum: 1 })).toEqualTypeOf<number>();
    expectTypeOf(typed({ type: 'boolean' })).toEqualTypeOf<boolean>();
    expectTypeOf(typed({ type: 'null' })).toEqualTypeOf<null>();
    expectTypeOf(typed({ type: ['string', 'null'] })).toEqualTypeOf<string | null>();
    expectTypeOf(typed({})).toEqualTypeOf<unknown>();
    expectTypeOf(typed({ type: 'array' })).toEqualTypeOf<readonly unknown[]>();
    expectTypeOf(typed({ type: 'object' })).toEqualTypeOf<{ readonly [name: string]: unknown }>();
  });

  it('is a union for values that are listed', () => {
    expectTypeOf(typed({ enum: ['porch', 'hall'] })).toEqualTypeOf<'porch' | 'hall'>();
    expectTypeOf(typed({ type: 'string', enum: ['porch', 'hall'] })).toEqualTypeOf<'porch' | 'hall'>();
    expectTypeOf(typed({ enum: [1, 'two', null] })).toEqualTypeOf<1 | 'two' | null>();
    expectTypeOf(typed({ const: 'porch' })).toEqualTypeOf<'porch'>();
    expectTypeOf(typed({ anyOf: [{ type: 'string' }, { type: 'number' }] })).toEqualTypeOf<string | number>();
    expectTypeOf(typed({ oneOf: [{ const: 1 }, { type: 'null' }] })).toEqualTypeOf<1 | null>();
  });

  it('has the members of an object, optional where they are not required', () => {
    const schema = {
      type: 'object',
      properties: {
        name: { enum: ['porch', 'hall'] },
        on: { type: 'boolean' },
        color: { type: 'object', properties: { hue: { type: 'number' } }, required: ['hue'] },
        times: { type: 'array', items: { type: 'object', properties: { hour: { type: 'integer' } } } },
      },
      required: ['name', 'times'],
    } as const;
    expectTypeOf(typed(schema)).toEqualTypeOf<{
      readonly name: 'porch' | 'hall';
      readonly times: readonly { readonly hour?: number }[];
      readonly on?: boolean;
      readonly color?: { readonly hue: number };
    }>();
  });

  it('has the items of a list, and the values of a map', () => {
    expectTypeOf(typed({ type: 'array', items: { type: 'string' } })).toEqualTypeOf<readonly string[]>();
    expectTypeOf(typed({ type: 'array', prefixItems: [{ type: 'string' }, { type: 'number' }] })).toEqualTypeOf<
      readonly [string, number]
    >();
    expectTypeOf(typed({ type: 'object', additionalProperties: { type: 'number' } })).toEqualTypeOf<{
      readonly [name: string]: number;
    }>();
  });

  it('joins what several schemas say', () => {
    const one = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] } as const;
    const other = { type: 'object', properties: { b: { type: 'number' } }, required: ['b'] } as const;
    expectTypeOf(typed({ allOf: [one, other] })).toExtend<{ readonly a: string; readonly b: number }>();
  });
});

describe('the arguments of `run`', () => {
  it('are typed by a JSON Schema literal', () => {
    executor({
      set_light: {
        parameters: {
          type: 'object',
          properties: { name: { enum: ['porch', 'hall'] }, on: { type: 'boolean' }, level: { type: 'integer' } },
          required: ['name', 'on'],
        },
        run: (args, context) => {
          expectTypeOf(args).toEqualTypeOf<{
            readonly name: 'porch' | 'hall';
            readonly on: boolean;
            readonly level?: number;
          }>();
          expectTypeOf(context).toEqualTypeOf<ToolContext>();
        },
      },
    });
  });

  it('are typed by a Standard Schema: they are its output', () => {
    executor({
      by_zod: {
        parameters: z.object({ name: z.string(), minutes: z.string().transform(Number) }),
        run: (args) => void expectTypeOf(args).toEqualTypeOf<{ name: string; minutes: number }>(),
      },
      by_valibot: {
        parameters: v.object({ name: v.picklist(['porch', 'hall']), level: v.optional(v.number(), 3) }),
        run: (args) => void expectTypeOf(args).toEqualTypeOf<{ name: 'porch' | 'hall'; level: number }>(),
      },
    });
  });

  it('are typed wherever `run` stands, and as a method', () => {
    executor({
      before: {
        run: ({ name }) => void expectTypeOf(name).toEqualTypeOf<string>(),
        parameters: z.object({ name: z.string() }),
      },
      method: {
        parameters: { properties: { name: { type: 'string' } }, required: ['name'] },
        async run({ name }, { signal }) {
          expectTypeOf(name).toEqualTypeOf<string>();
          expectTypeOf(signal).toEqualTypeOf<AbortSignal>();
        },
      },
    });
  });

  it('are typed by a schema that is a constant, and need no type in a list of tools that a program builds', () => {
    const parameters = { type: 'object', properties: { name: { type: 'string' } } } as const;
    executor({
      tool: { parameters, run: (args) => void expectTypeOf(args).toEqualTypeOf<{ readonly name?: string }>() },
    });
    const built: Record<string, ToolRegistration<unknown>> = { tool: { run: ({ name }) => name } };
    built['other'] = { parameters: z.object({}), run: () => {} };
    expectTypeOf(executor(built)).toEqualTypeOf<ToolExecutor>();
  });

  it('are typed in defineTool as in an executor', () => {
    const byJsonSchema = defineTool({
      name: 'set_light',
      description: 'Turn a light on or off.',
      parameters: { type: 'object', properties: { name: { enum: ['porch', 'hall'] } }, required: ['name'] },
      run: (args, context) => {
        expectTypeOf(args).toEqualTypeOf<{ readonly name: 'porch' | 'hall' }>();
        expectTypeOf(context).toEqualTypeOf<ToolContext>();
        expectTypeOf(context.variables).toEqualTypeOf<Readonly<Record<string, string>>>();
      },
    });
    const byZod = defineTool({
      name: 'wait',
      description: 'Wait.',
      parameters: z.object({ minutes: z.string().transform(Number) }),
      run: ({ minutes }) => void expectTypeOf(minutes).toEqualTypeOf<number>(),
    });
    const without = defineTool({
      name: 'ring_bell',
      description: 'Ring the bell.',
      run: (args) => void expectTypeOf(args).toEqualTypeOf<Readonly<Record<string, unknown>>>(),
    });
    expectTypeOf(byZod).toEqualTypeOf<DefinedTool<{ minutes: number }>>();
    expectTypeOf([byJsonSchema, byZod, without]).toExtend<AgentTools>();
    expectTypeOf(executor([byJsonSchema, byZod, without])).toEqualTypeOf<ToolExecutor>();
  });

  it('are typed by the schemas of TypeBox, which are interfaces: before version 1 with `static`', () => {
    interface OlderSchema {
      static: { name: string; level?: number };
      type: 'object';
      properties: { name: { type: 'string' }; level: { type: 'number' } };
      required?: string[];
    }
    interface Schema extends Omit<OlderSchema, 'static' | 'required'> {
      required: ['name'];
    }
    const [older, parameters] = [{ type: 'object' } as OlderSchema, { type: 'object' } as Schema];
    const tool = { name: 'set_light', description: 'Turn a light on.', run: () => {} };
    expectTypeOf(defineTool({ ...tool, parameters: older })).toEqualTypeOf<
      DefinedTool<{ name: string; level?: number }>
    >();
    expectTypeOf(defineTool({ ...tool, parameters })).toEqualTypeOf<
      DefinedTool<{ readonly name: string; readonly level?: number }>
    >();
  });

  it('are unknown values without a schema', () => {
    executor({
      set_light: { run: (args) => void expectTypeOf(args).toEqualTypeOf<Readonly<Record<string, unknown>>>() },
    });
    expectTypeOf<ToolArguments<unknown>>().toEqualTypeOf<Readonly<Record<string, unknown>>>();
  });
});
