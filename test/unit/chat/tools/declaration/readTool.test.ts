import { describe, expect, it } from 'vitest';
import { createReader, type ReadResult } from '../../../../../src/protocol/schema.ts';
import { declaredPointer } from '../../../../../src/chat/tools/declaration/enumSource.ts';
import { readTool } from '../../../../../src/chat/tools/declaration/readTool.ts';
import { toolSchema } from '../../../../../src/chat/tools/declaration/toolSchema.ts';
import { functionJson } from '../../../../../src/chat/formats/toolText.ts';
import type { Tool } from '../../../../../src/chat/tool.ts';

const checkForm = createReader(toolSchema);

/** Reads a declaration as a ToolCall node does; the second value are the warnings. */
function read(declaration: unknown): [ReadResult<Tool>, readonly string[]] {
  const warnings: string[] = [];
  const form = checkForm(declaration);
  if (!form.ok) return [form, warnings];
  return [readTool(form.value, ({ pointer, message }) => warnings.push(`${pointer} ${message}`)), warnings];
}

function errorsOf(declaration: unknown): readonly string[] {
  const [reading] = read(declaration);
  return reading.ok ? [] : reading.errors.map(({ pointer, message }) => `${pointer} ${message}`);
}

function toolOf(declaration: unknown): Tool {
  const [reading] = read(declaration);
  if (!reading.ok) throw new Error(JSON.stringify(reading.errors));
  return reading.value;
}

const own = (parameters: unknown): object => ({ name: 'f', description: 'd', parameters });
const schema = (properties: object): object => own({ type: 'object', properties });
const openAi = (members: object = {}, outside: object = {}): object => ({
  type: 'function',
  function: { name: 'f', description: 'd', ...members },
  ...outside,
});

describe('a tool in the form of OpenAI', () => {
  const parameters = { type: 'object', properties: { on: { type: 'boolean' } }, required: ['on'] };

  it('is the same tool as in our own form', () => {
    const { origin, ...tool } = toolOf(openAi({ parameters }));
    expect(tool).toEqual({ ...toolOf(own(parameters)), origin: undefined });
    expect(origin).toEqual({ pointer: '/function' });
    expect(functionJson(toolOf(openAi({ parameters })))).toBe(functionJson(toolOf(own(parameters))));
  });

  it.each<[string, object]>([
    ['a list of parameters', openAi({ parameters: [{ name: 'on', type: 'boolean' }] })],
    ['no type', { function: { name: 'f', description: 'd', parameters } }],
  ])('may have %s', (_, declaration) => {
    expect(toolOf(declaration).parameters).toEqual(parameters);
  });

  it.each([{}, { parameters: {} }])('has no parameters where it declares none: %j', (members) => {
    expect(toolOf(openAi(members)).parameters).toEqual({ type: 'object', properties: {} });
  });

  it.each<[string, object, boolean]>([
    ['next to "function"', openAi({}, { consequential: true }), true],
    ['in "function"', openAi({ consequential: true }), true],
    ['in both places', openAi({ consequential: true }, { consequential: true }), true],
    ['nowhere', openAi(), false],
  ])('is consequential where that stands %s', (_, declaration, consequential) => {
    expect(toolOf(declaration).consequential).toBe(consequential);
  });

  it('warns of what it does not do, and of a description that is missing', () => {
    expect(read(openAi({ strict: true }))[1]).toEqual([
      '/function/strict is not used: "strict" of the node is for all its tools; set it there',
    ]);
    expect(read(openAi({ strict: false }))[1]).toEqual([]);
    expect(read({ function: { name: 'f' } })[1]).toEqual([
      '/function has no description: a model knows it by its name only',
    ]);
  });
});

describe('a tool is refused at its place', () => {
  const destination = { type: 'object', properties: { city: { type: 'string' } }, required: true };
  const deep = (depth: number): object => (depth === 0 ? {} : { type: 'array', items: deep(depth - 1) });

  it.each<[string, unknown, readonly string[]]>([
    ['no object', 7, [' must be a tool with name, description and parameters or a tool in the form of OpenAI, not 7']],
    ['an empty object', {}, ['/name is missing', '/description is missing']],
    ['only a type', { type: 'function' }, ['/function is missing']],
    ['another type', { ...openAi(), type: 'tool' }, ['/type must be one of "function", not "tool"']],
    [
      'a listed parameter with other keywords of JSON Schema',
      own([{ name: 'a', type: 'integer', minimum: 1 } as never]),
      [
        '/parameters/0/minimum is not known here; other keywords of JSON Schema need "parameters": {"type": "object", "properties": {...}}',
      ],
    ],
    ['both forms', { name: 'f', function: { name: 'f' } }, ['/name is not known here']],
    ['a flat form with a type', { ...own([]), type: 'function' }, ['/type is not known here']],
    ['a function without a name', { function: { description: 'd' } }, ['/function/name is missing']],
    [
      'a function with a typo',
      openAi({ parameter: [] }),
      ['/function/parameter is not known here; did you mean "parameters"?'],
    ],
    [
      'a parameter of a function',
      openAi({ parameters: [{ name: 'on', type: 'bit' }] }),
      [expect.stringMatching(/^\/function\/parameters\/0\/type must be one of "string".* not "bit"/) as string],
    ],
    [
      'contradicting consequences',
      openAi({ consequential: true }, { consequential: false }),
      ['/function/consequential is not what stands next to "function": false'],
    ],
    [
      'a schema of another type',
      openAi({ parameters: { type: 'array' } }),
      ['/function/parameters/type must be "object": arguments are named'],
    ],
    ['a schema that is no object', schema({ on: true }), ['/parameters/properties/on must be a JSON Schema']],
    [
      'a name twice',
      own([
        { name: 'on', type: 'boolean' },
        { name: 'on', type: 'string' },
      ]),
      ['/parameters/1/name is declared twice: "on"'],
    ],
    [
      'an enum value of another type',
      own([{ name: 'level', type: 'int', enum: [1, 'two'] }]),
      [`/parameters/0/enum/1 must be of the parameter's type integer, not "two"`],
    ],
    [
      'required of an object',
      schema({ to: destination }),
      ['/parameters/properties/to/required must be a list of names'],
    ],
    [
      'required of an item of a list',
      schema({ stops: { type: 'array', items: destination } }),
      ['/parameters/properties/stops/items/required must be a list of names'],
    ],
    [
      'required of an item of a parameter',
      own([{ name: 'stops', type: 'array', items: destination }]),
      ['/parameters/0/items/required must be a list of names'],
    ],
    [
      'endless nesting',
      schema({ a: deep(80) }),
      [expect.stringContaining('is nested deeper than 64 levels') as string],
    ],
  ])('with %s', (_, declaration, errors) => {
    expect(errorsOf(declaration)).toEqual(errors);
  });

  it.each<[string, unknown, readonly string[]]>([
    [
      'of a parameter',
      own([{ name: 'city', type: 'string', source: 'foo' }]),
      ['/parameters/0/source must be one of "customer", "context", "any", not "foo"'],
    ],
    [
      'of a property',
      schema({ city: { source: 'foo', hidden: 1, significance: 2, precedence: 1.5, examples: 'Rome' } }),
      [
        '/parameters/properties/city/source must be one of "customer", "context", "any", not "foo"',
        '/parameters/properties/city/significance must be a string, not 2',
        '/parameters/properties/city/examples must be an array, not "Rome"',
        '/parameters/properties/city/hidden must be a boolean, not 1',
        '/parameters/properties/city/precedence must be an integer, not 1.5',
      ],
    ],
    [
      'of a nested property of a function',
      openAi({
        parameters: { type: 'object', properties: { place: { properties: { 'a/b': { source: 'user' } } } } },
      }),
      [
        '/function/parameters/properties/place/properties/a~1b/source must be one of "customer", "context", "any", not "user"',
      ],
    ],
    [
      'of the items of a parameter',
      own([{ name: 'stops', type: 'array', items: { hidden: 'yes' } }]),
      ['/parameters/0/items/hidden must be a boolean, not "yes"'],
    ],
    [
      'of all arguments',
      own({ type: 'object', source: 'customer', properties: {} }),
      ['/parameters/source is a fact of one parameter; move it to the schema of each parameter under "properties"'],
    ],
    [
      'of a definition',
      own({ type: 'object', $defs: { city: { type: 'string', source: 'customer', examples: ['Rome'] } } }),
      [
        '/parameters/$defs/city/source is a fact of one parameter; move it to the schema of the parameter that this schema is used for',
      ],
    ],
  ])('with an invalid fact %s', (_, declaration, errors) => {
    expect(errorsOf(declaration)).toEqual(errors);
  });
});

describe('the facts of parameters', () => {
  it('are found by path, and models are not shown them', () => {
    const tool = toolOf(
      own({
        type: 'object',
        properties: {
          source: { type: 'string', description: 'A property of this name.', source: 'context' },
          place: {
            type: 'object',
            significance: 'where to',
            properties: { city: { type: 'string', source: 'customer', examples: ['Rome'] }, zip: { type: 'string' } },
            required: ['city'],
          },
          items: {
            type: 'array',
            items: { type: 'object', properties: { name: { anyOf: [{ type: 'string', hidden: true }] } } },
          },
        },
        required: ['items'],
      }),
    );
    expect(Object.fromEntries(tool.notes)).toEqual({
      source: { required: false, source: 'context' },
      place: { required: false, significance: 'where to' },
      'place.city': { required: true, source: 'customer', examples: ['Rome'] },
      'items[].name': { required: false, hidden: true },
    });
    expect(functionJson(tool)).toBe(
      '{"type": "function", "function": {"name": "f", "description": "d", "parameters": {"type": "object", "properties": ' +
        '{"source": {"type": "string", "description": "A property of this name."}, ' +
        '"place": {"type": "object", "properties": {"city": {"type": "string", "examples": ["Rome"]}, "zip": {"type": "string"}}, "required": ["city"]}, ' +
        '"items": {"type": "array", "items": {"type": "object", "properties": {"name": {"anyOf": [{"type": "string"}]}}}}}, ' +
        '"required": ["items"]}}}',
    );
  });

  it('of a list are those of its parameters and of their items', () => {
    const items = { type: 'string', source: 'customer', examples: ['Ada'] };
    const tool = toolOf(own([{ name: 'names', type: 'array', items, precedence: 2, examples: [['Ada', 'Bob']] }]));
    expect(Object.fromEntries(tool.notes)).toEqual({
      names: { required: true, precedence: 2, examples: [['Ada', 'Bob']] },
      'names[]': { required: true, source: 'customer', examples: ['Ada'] },
    });
    expect(tool.parameters.properties).toEqual({
      names: { type: 'array', items: { type: 'string', examples: ['Ada'] } },
    });
  });

  it('leave values alone that only look like schemas', () => {
    const value = { type: 'int', source: 'customer' };
    const property = { default: value, enum: [value], const: value, examples: [value], 'x-note': value };
    const tool = toolOf(schema({ a: property }));
    expect(tool.parameters.properties?.['a']).toEqual(property);
    expect(read(schema({ a: property }))[1]).toEqual([]);
  });
});

describe('the keywords of a schema', () => {
  const on = { on: { type: 'boolean' } };

  it.each([
    [
      'with required before properties',
      { required: ['on'], type: 'object', properties: on },
      'type properties required',
    ],
    [
      'with keywords between them',
      { type: 'object', required: ['on'], title: 'Lamp', properties: on, additionalProperties: false },
      'type title properties required additionalProperties',
    ],
    [
      'in their own order, where required follows',
      { properties: on, type: 'object', title: 'Lamp', required: ['on'] },
      'properties type title required',
    ],
  ])('are shown to the model in the order that it was trained on: %s', (_title, parameters, order) => {
    expect(Object.keys(toolOf(own(parameters)).parameters)).toEqual(order.split(' '));
    const nested = toolOf(schema({ lamp: parameters })).parameters.properties?.['lamp'];
    expect(Object.keys(Object(nested) as object)).toEqual(order.split(' '));
  });
});

describe('the type names of Python', () => {
  it.each([
    ['str', 'string'],
    ['int', 'integer'],
    ['float', 'number'],
    ['bool', 'boolean'],
    ['list', 'array'],
    ['dict', 'object'],
  ])('%s is read as %s, with a warning', (name, type) => {
    const [reading, warnings] = read(own([{ name: 'a', type: name }]));
    expect(reading).toMatchObject({ value: { parameters: { properties: { a: { type } } } } });
    expect(warnings).toEqual([`/parameters/0/type is "${name}", which is read as "${type}"; write "${type}"`]);
  });

  it('are understood wherever a type stands in a JSON Schema', () => {
    const [reading, warnings] = read(
      openAi({
        parameters: {
          type: 'dict',
          properties: {
            type: { type: ['int', 'null', 'integer'] },
            list: { type: 'list', items: { anyOf: [{ type: 'str' }, { $ref: '#/$defs/x' }] } },
          },
          $defs: { x: { type: 'object', additionalProperties: { type: 'float' } } },
        },
      }),
    );
    expect(reading).toMatchObject({
      value: {
        parameters: {
          type: 'object',
          properties: {
            type: { type: ['integer', 'null'] },
            list: { type: 'array', items: { anyOf: [{ type: 'string' }, { $ref: '#/$defs/x' }] } },
          },
          $defs: { x: { type: 'object', additionalProperties: { type: 'number' } } },
        },
      },
    });
    expect(warnings.map((warning) => warning.split(' ')[0])).toEqual([
      '/function/parameters/type',
      '/function/parameters/properties/type/type/0',
      '/function/parameters/properties/list/type',
      '/function/parameters/properties/list/items/anyOf/0/type',
      '/function/parameters/$defs/x/additionalProperties/type',
    ]);
  });

  it('are counted where there are many', () => {
    const parameters = Array.from({ length: 25 }, (_, index) => ({ name: `a${index}`, type: 'int' }));
    const [, warnings] = read(own(parameters));
    expect(warnings).toHaveLength(11);
    expect(warnings.at(-1)).toBe('/parameters has 15 more keywords that are no JSON Schema');
  });
});

describe('a pointer into the parameters of a tool', () => {
  it.each<[string, object, string, string]>([
    ['a schema', schema({ on: {} }), '/properties/on/type', '/parameters/properties/on/type'],
    [
      'a list',
      own([
        { name: 'a', type: 'str' },
        { name: 'on', type: 'str' },
      ]),
      '/properties/on/type',
      '/parameters/1/type',
    ],
    ['a function', openAi(), '/additionalProperties', '/function/parameters/additionalProperties'],
    [
      'a list of a function',
      openAi({ parameters: [{ name: 'a/b', type: 'str' }] }),
      '/properties/a~1b',
      '/function/parameters/0',
    ],
  ])('leads to the place in the declaration, with %s', (_, declaration, pointer, place) => {
    expect(declaredPointer(pointer, toolOf(declaration))).toBe(place);
  });
});

describe('keywords that are no JSON Schema, as people write them,', () => {
  it.each([
    [
      'values as texts',
      { type: 'boolean', enum: ['True', 'false', 'dontcare'] },
      { type: 'boolean', enum: [true, false, 'dontcare'] },
      'enum',
    ],
    ['numbers as texts', { type: 'integer', enum: ['1', '22', 3] }, { type: 'integer', enum: [1, 22, 3] }, 'enum'],
    [
      'the values of items beside them',
      { type: 'array', items: { type: 'string' }, enum: ['a', 'b'] },
      { type: 'array', items: { type: 'string', enum: ['a', 'b'] } },
      'enum',
    ],
    ['a count as a text', { minItems: '2', required: true }, { minItems: 2 }, 'minItems required'],
    ['words that name nothing', { properties: {}, required: ['b'], optional: 'True' }, {}, 'optional required'],
  ])('%s are read as they are meant', (_, declared, meant, keywords) => {
    const [asSchema, warnings] = read(own({ type: 'object', properties: { a: declared } }));
    expect(asSchema).toMatchObject({ value: { parameters: { properties: { a: meant } } } });
    const pointers = keywords.split(' ').map((keyword) => `/parameters/properties/a/${keyword}`);
    expect(warnings.map((warning) => warning.split(' ')[0])).toEqual(pointers);
  });

  it.each([
    ['texts', { type: 'string', enum: ['1', 'true'] }],
    ['lists as values', { type: 'array', items: { type: 'string' }, enum: [['a'], []] }],
    ['a default beside items', { type: 'array', items: { type: 'string' }, default: ['a'] }],
  ])('%s stay as they are', (_, declared) => {
    const expected = { value: { parameters: { properties: { a: declared } } } };
    expect(read(own({ type: 'object', properties: { a: declared } }))).toMatchObject([expected, []]);
  });

  it('values as texts are read in a list of parameters, too', () => {
    const [reading, warnings] = read(own([{ name: 'a', type: 'bool', enum: ['True', 'False'] }]));
    expect(reading).toMatchObject({ value: { parameters: { properties: { a: { enum: [true, false] } } } } });
    expect(warnings.at(-1)).toBe(
      '/parameters/0/enum has texts, which are read as values of the type boolean; write them without quotes',
    );
  });
});
