import type { FromSchema } from '../../protocol/schema.ts';
import { array, closedObject, object, partialObject, string } from '../../protocol/schemaBuilders.ts';
import { callSchema, resultsSchema } from '../callAnswers.ts';

const expectSchema = partialObject(
  {
    path: array(
      { items: { type: 'string', minLength: 1 } },
      'All nodes that run, in order: the name of a node, or its name and the exit it takes (guard.triggered).',
    ),
    calls: { type: 'array', description: 'All calls of the turn, in order; [] = none.', items: callSchema },
    fields: object('Fields of the answer (answer_fields), by name. Those that are not named are not compared.'),
    text: {
      description: 'The whole text of the turn, or what it must be like.',
      anyOf: [
        string('a text'),
        partialObject(
          {
            contains: string({ minLength: 1 }, 'A part of the text; case-sensitive.'),
            matches: string(
              'A regular expression (RE2 syntax), matched anywhere; case-sensitive unless it begins with (?i).',
            ),
            not_matches: string('A regular expression that must not match.'),
          },
          'an object of contains, matches, not_matches',
        ),
      ],
    },
  },
  'What the turn must do. What is absent is not compared.',
);

const turnSchema = closedObject(['user'], {
  user: string("The user's message."),
  variables: object(
    { additionalProperties: { type: 'string' }, default: {} },
    'Variables of the message, for templates and enum_from.',
  ),
  results: { ...resultsSchema, default: [] },
  expect: { ...expectSchema, default: {} },
});

/** JSON Schema of a cases file: the unit tests of a graph. */
export const casesSchema = closedObject(['graph', 'cases'], {
  $schema: string('Where editors find the schema.'),
  description: string({ default: '' }, 'What the cases are for.'),
  graph: string(
    { minLength: 1 },
    'The graph: a path that begins at the folder of this file, or a name in the graphs folder.',
  ),
  recording: string(
    { minLength: 1 },
    "The mock script with the models' answers: a path that begins at the folder of this file. Default: this file with .mock.json instead of .cases.json, where it exists.",
  ),
  cases: {
    type: 'array',
    minItems: 1,
    description: 'The cases. Each begins with an empty dialog.',
    items: closedObject(['name', 'turns'], {
      name: string({ minLength: 1 }, 'What the graph does, in a few words.'),
      turns: array({ minItems: 1, items: turnSchema }, 'The messages, in one dialog.'),
    }),
  },
});

/** A cases file that `casesSchema` has accepted. */
export type CasesDocument = FromSchema<typeof casesSchema>;

/** One case: a dialog with expectations. */
export type GraphCase = CasesDocument['cases'][number];

/** One message of a case, and what is expected of its turn. */
export type CaseTurn = GraphCase['turns'][number];

/** Builds cases.schema.json: the JSON Schema (draft-07) with which editors complete and check cases files. */
export const casesEditorSchema = (): object => ({
  $schema: 'http://json-schema.org/draft-07/schema#',
  title: 'turngraph test cases',
  ...casesSchema,
});
