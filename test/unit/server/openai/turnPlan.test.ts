import { expect, it } from 'vitest';
import { Fault } from '../../../../src/protocol/fault.ts';
import { planFault, planWarning, type TurnPlan } from '../../../../src/server/openai/turnPlan.ts';

const plan = { fields: { tools: '/nodes/answer/params/tools' } } as unknown as TurnPlan;

it.each(['an explanation', '[null]', '{}'])('an error whose detail is %s stays as it is', (detail) => {
  const error = new Fault('INFERENCE_FAILED', 'a node of an extension failed', { detail });
  expect(planFault(error, plan)).toBe(error);
});

it('an error of the graph is one of the field that it comes from', () => {
  const message = 'answer.params.tools[0] is declared twice: "a"';
  const detail = JSON.stringify([
    { code: 'GRAPH_COMPILATION_FAILED', pointer: '/nodes/answer/params/tools/0', message },
  ]);
  expect(planFault(new Fault('GRAPH_COMPILATION_FAILED', message, { detail }), plan)).toMatchObject({
    status: 400,
    message: 'tools[0] is declared twice: "a"',
    param: 'tools[0]',
    code: 'invalid_value',
  });
});

it.each([
  ['set strict or retries', 'set strict'],
  ['set retries', 'choose another model'],
  ['choose another model or format', 'choose another model'],
  ['raise sampling.max_tokens', 'raise max_tokens'],
  [
    'put a ToolCall node in its place, or say in system_prompt not to call tools',
    'say in a system message not to call tools',
  ],
])('a warning that says "%s" names only what a request can have: "%s"', (fix, named) => {
  const warning = 'answer wrote a call that could not be used: it is no JSON; ';
  const ofModel = { fields: { model: '/nodes/answer/params/model_name' } } as unknown as TurnPlan;
  expect(planWarning(warning + fix, ofModel)).toBe(warning + named);
  expect(planWarning(warning + fix, { ...ofModel, fields: {} })).toBe(warning + fix);
});
