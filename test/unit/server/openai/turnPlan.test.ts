import { expect, it } from 'vitest';
import { Fault } from '../../../../src/protocol/fault.ts';
import { planFault, type TurnPlan } from '../../../../src/server/openai/turnPlan.ts';

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
