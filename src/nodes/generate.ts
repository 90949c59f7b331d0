import { unwrapParam, defineNode, type NodeContext } from '../graph/node.ts';
import { compileTemplate } from '../graph/template.ts';
import { liveParams } from '../graph/liveParams.ts';
import type { Turn } from '../graph/turn.ts';
import type { FromSchema, ObjectSchema } from '../schema.ts';
import { chatProjection } from '../projection/chat.ts';
import { placeTemplate, placements } from '../projection/placement.ts';
import { jsonGrammar } from '../tools/grammar/jsonSchema/fromSchema.ts';
import { InferenceRunner, inferenceParams, resolveModel, type PromptRequest } from './inference.ts';

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
  async create(params, context) {
    const { response_schema: schema } = params;
    const bound = schema && { grammar: unwrapParam('/response_schema', jsonGrammar(schema)) };
    const settings = await liveParams(params, (given) => compileTemplates(given, context));
    const use = await resolveModel(context, params.model_name);
    const inference = new InferenceRunner(use);
    const projection = chatProjection(use.model);
    const question = (turn: Turn): PromptRequest => {
      const { system, beside, placement, sampling, thinking } = settings.current;
      const template = beside && { text: beside.render(turn), placement };
      return {
        projection,
        system: system.render(turn),
        current: placeTemplate(turn.message, template),
        sampling,
        thinking,
      };
    };
    return {
      async run(turn) {
        const { stream, hold } = settings.current;
        const onText = (piece: string): void => turn.sendText(piece, 'delta');
        const wish = { ...bound, ...(stream && !hold && { onText }) };
        const { text } = await inference.complete(turn, question(turn), wish);
        if (hold) turn.hold(text);
        else if (!stream) turn.sendText(text, 'whole');
        return 'default';
      },
      warmUp: (turn) => inference.prefill(turn, question(turn)),
      change: settings.change,
      [Symbol.asyncDispose]: () => inference[Symbol.asyncDispose](),
    };
  },
});

type Params = FromSchema<typeof params>;

function compileTemplates({ system_prompt, template, ...rest }: Params, { nodeName, warn }: NodeContext) {
  const { placement } = rest;
  const at = `${nodeName}.params`;
  const system = unwrapParam('/system_prompt', compileTemplate(system_prompt, `${at}.system_prompt`));
  const beside =
    template === undefined ? undefined : unwrapParam('/template', compileTemplate(template, `${at}.template`));
  if (placement === 'in_place_of_user' && beside && !beside.names.has('user_message')) {
    warn(
      `${at}.template stands in place of the user and does not name {{user_message}}: the model will not see the message`,
    );
  }
  return { ...rest, system, beside };
}
