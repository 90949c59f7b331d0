// Checks that print a line with figures each, for programs that try the server where the tests do not run.

/**
 * Checks of which `names` are run, by the first word of their name; none = all. A check whose fault `mayPass` names is tried
 * once more, after its line.
 */
export function createChecks(names, mayPass = () => false) {
  let faults = 0;
  return {
    /** Counts a fault of none of the checks, and prints it. */
    addFault({ message }) {
      faults++;
      console.log(`FAIL ${message}`);
    },
    /** Runs a check, and prints its line. */
    async check(name, work) {
      if (names.length > 0 && !names.includes(name.split(' ')[0])) return;
      const began = performance.now();
      const attempt = () =>
        work().then(
          (said) => ({ ok: true, said }),
          (error) => ({ ok: false, said: error.message }),
        );
      let { ok, said } = await attempt();
      if (!ok && mayPass(said)) {
        console.log(`--   ${name}: ${said}`);
        ({ ok, said } = await attempt());
      }
      if (!ok) faults++;
      console.log(`${ok ? 'ok  ' : 'FAIL'} ${name} (${((performance.now() - began) / 1000).toFixed(1)} s): ${said}`);
    },
    /** Prints the last line if there were checks, and sets the exit code. */
    end(isAnyRun) {
      if (isAnyRun) console.log(faults === 0 ? 'all checks hold' : `${faults} checks FAILED`);
      process.exitCode = faults === 0 ? 0 : 1;
    },
  };
}

export function expect(holds, otherwise) {
  if (!holds) throw new Error(otherwise);
}

export const megabytes = (bytes) => `${(bytes / 1e6).toFixed(1)} MB`;

/** A chat, and a strict tool call. Returns what they said. */
export async function converse(client, model) {
  const agent = await client.createAgent({ graphName: 'chat', defaultModelName: model });
  const chat = await agent.send('What is the capital of France?').done;
  expect(chat.text.trim() !== '' && chat.stopReason === 'END', `the chat said "${chat.text}": ${chat.stopReason}`);
  expect(agent.warnings.length === 0, agent.warnings.join());
  const tool = {
    name: 'set_light',
    description: 'Turn a named light on or off.',
    parameters: [
      { name: 'name', type: 'string', description: 'Which light.' },
      { name: 'on', type: 'boolean', description: 'true to turn it on.' },
    ],
  };
  const graph = {
    default_model_name: model,
    start_node: 'detect',
    nodes: { detect: { type: 'ToolCall', params: { strict: true, tools: [tool] } } },
  };
  const caller = await client.createAgent({ graph });
  const { calls } = await caller.send('Please turn on the porch light.').done;
  const said = calls.map(({ toolName, arguments: args }) => `${toolName} ${JSON.stringify(args)}`).join();
  expect(said === 'set_light {"name":"porch","on":true}', `the call was ${said || 'none'}`);
  return `"${chat.text.trim()}"; ${said}`;
}
