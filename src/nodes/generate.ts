import { accept, defineNode, type Supplies } from '../graph/node.ts';
import { compileTemplate } from '../graph/template.ts';
import { live } from '../graph/liveParams.ts';
import type { Turn } from '../graph/turn.ts';
import type { FromSchema, ObjectSchema } from '../schema.ts';
import { dialogue } from '../projection/chat.ts';
import { place, placements } from '../projection/placement.ts';
import { jsonGrammar } from '../tools/grammar/grammar.ts';
import { Inference, inferenceParams, modelOf, type Question } from './inference.ts';

const params = {
  type: 'object',
  additionalProperties: false,
  properties: {
    ...inferenceParams,
    template: {
      type: 'string',
      live: true,
      description: 'Template put into the prompt beside the message, at `placement`.',
    },
    placement: {
      type: 'string',
      enum: placements,
      default: 'before_user_as_system',
      live: true,
      description: 'Where the template stands, and as whose words.',
    },
    stream: {
      type: 'boolean',
      default: true,
      live: true,
      description: 'true: deltas as they are generated; false: one frame.',
    },
    response_schema: {
      type: 'object',
      description: 'A JSON Schema that the answer has to fit: it is JSON and nothing else.',
    },
    hold: {
      type: 'boolean',
      default: false,
      live: true,
      description: 'Keeps the answer in the turn: a later Guardrail can watch it, a CannedResponse takes its place.',
    },
  },
} as const satisfies ObjectSchema;

/** Lets a model answer in words. */
export const generate = defineNode({
  type: 'Generate',
  summary: 'Answers in words: streamed, in one frame, or held for a later node to judge.',
  params,
  exits: ['default'],
  async create(params, supplies) {
    const { response_schema: schema } = params;
    const bound = schema && { grammar: accept('/response_schema', jsonGrammar(schema)) };
    const settings = await live(params, (given) => settle(given, supplies));
    const use = await modelOf(supplies, params.model_name);
    const inference = new Inference(use);
    const projection = dialogue(use.model);
    const question = (turn: Turn): Question => {
      const { system, beside, placement, sampling, thinking } = settings.now;
      const template = beside && { text: beside.render(turn), placement };
      return { projection, system: system.render(turn), current: place(turn.message, template), sampling, thinking };
    };
    return {
      async run(turn) {
        const { stream, hold } = settings.now;
        const onText = (piece: string): void => turn.say(piece, 'delta');
        const wish = { ...bound, ...(stream && !hold && { onText }) };
        const { text } = await inference.complete(turn, question(turn), wish);
        if (hold) turn.hold(text);
        else if (!stream) turn.say(text, 'whole');
        return 'default';
      },
      warm: (turn) => inference.warm(turn, question(turn)),
      change: settings.change,
      [Symbol.asyncDispose]: () => inference[Symbol.asyncDispose](),
    };
  },
});

type Params = FromSchema<typeof params>;

function settle({ system_prompt, template, ...rest }: Params, { nodeName, warn }: Supplies) {
  const { placement } = rest;
  const at = `${nodeName}.params`;
  const system = accept('/system_prompt', compileTemplate(system_prompt, `${at}.system_prompt`));
  const beside = template === undefined ? undefined : accept('/template', compileTemplate(template, `${at}.template`));
  if (placement === 'in_place_of_user' && beside && !beside.names.has('user_message')) {
    warn(
      `${at}.template stands in place of the user and does not name {{user_message}}: the model will not see the message`,
    );
  }
  return { ...rest, system, beside };
}
